"""Vector code for `interpolate` and `spread`, written out: a small box of grid points, in registers.

Compiled loops of eight or twelve numbers are too short for the compiler to vectorise well (measured: seven
times slower), so these steps are given to it as vectors of four. How many lanes the kernels have is the
length of a tuple, ``like``: a number that the compiler knows, without a function made for each, whose code
numba would compile again in every process.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# Numbers in one vector; a processor with narrower ones splits it.
VECTOR = 4
_DOUBLE = ir.DoubleType()
_FOUR = ir.VectorType(_DOUBLE, VECTOR)
_INTEGER = ir.IntType(64)
_FUSED = ("contract",)
# What is given as ``like``.
LIKE = {8: 8 * (0,), 12: 12 * (0,)}
# How many orders `kernel_values` takes: the kernel alone, or with its first two derivatives.
VALUE, DERIVATIVES = (0,), (0, 0, 0)


class _Writer:
    """The few instructions needed, on flat arrays of doubles."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.builder = context, builder
        self.arguments = arguments
        self.types = signature.args

    def array(self, place: int) -> Any:
        return self.context.make_array(self.types[place])(self.context, self.builder, self.arguments[place])

    def length(self, array: Any) -> Any:
        return cgutils.unpack_tuple(self.builder, array.shape)[0]

    def at(self, data: Any, *terms: Any) -> Any:
        """The address of ``data`` moved by a sum of integers."""
        index = ir.Constant(_INTEGER, 0)
        for term in terms:
            step = ir.Constant(_INTEGER, term) if isinstance(term, int) else term
            index = self.builder.add(index, step)
        return self.builder.gep(data, [index])

    def vector(self, address: Any) -> Any:
        return self.builder.load(self.builder.bitcast(address, _FOUR.as_pointer()), align=8)

    def put_vector(self, value: Any, address: Any) -> None:
        self.builder.store(value, self.builder.bitcast(address, _FOUR.as_pointer()), align=8)

    def broadcast(self, scalar: Any) -> Any:
        """A vector of one number four times."""
        one = self.builder.insert_element(
            ir.Constant(_FOUR, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
        )
        mask = ir.Constant(ir.VectorType(ir.IntType(32), VECTOR), [0] * VECTOR)
        return self.builder.shuffle_vector(one, one, mask)

    def fused(self, a: Any, b: Any, c: Any) -> Any:
        """a * b + c."""
        return self.builder.fadd(self.builder.fmul(a, b, flags=_FUSED), c, flags=_FUSED)

    def totals(self, count: int) -> list[Any]:
        return [cgutils.alloca_once(self.builder, _FOUR) for _ in range(count)]

    def clear(self, totals: list[Any]) -> None:
        for total in totals:
            self.builder.store(ir.Constant(_FOUR, [0.0] * VECTOR), total)

    def add(self, total: Any, a: Any, b: Any) -> None:
        self.builder.store(self.fused(a, b, self.builder.load(total)), total)


@intrinsic
def kernel_values(
    typing_context: Any, powers: Any, table: Any, x: Any, out: Any, like: Any, orders: Any
) -> Any:
    """The polynomials of table (3, powers, lanes) at x, into out (3, lanes); a row for each of ``orders``."""
    lanes = like.count
    chunks = lanes // VECTOR

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        write = _Writer(context, builder, signature, arguments)
        count, table_data = arguments[0], write.array(1).data
        at, out_data = write.broadcast(arguments[2]), write.array(3).data
        totals = write.totals(orders.count * chunks)
        write.clear(totals)
        row = builder.mul(count, ir.Constant(_INTEGER, lanes))
        with cgutils.for_range(builder, count) as loop:
            power = builder.mul(loop.index, ir.Constant(_INTEGER, lanes))
            for order in range(orders.count):
                start = builder.mul(row, ir.Constant(_INTEGER, order))
                for c in range(chunks):
                    total = totals[order * chunks + c]
                    factor = write.vector(write.at(table_data, start, power, c * VECTOR))
                    builder.store(write.fused(builder.load(total), at, factor), total)
        for j, total in enumerate(totals):
            write.put_vector(builder.load(total), write.at(out_data, j * VECTOR))
        return context.get_dummy_value()

    return types.void(types.int64, table, types.float64, out, like, orders), generate


@intrinsic
def contract(
    typing_context: Any, grid: Any, start: Any, planes: Any, rows: Any, kernels: Any, out: Any, like: Any
) -> Any:
    """Value, gradient and Hessian of one place.

    ``grid`` is flat; a row of it begins at start + planes[jz] + rows[jy]. ``kernels`` is (3, 3, lanes): for
    the axes z, y, x the kernel and its derivatives. ``out`` takes W; z, y, x; zz, zy, zx, yy, yx, xx.
    """
    lanes = like.count
    chunks = lanes // VECTOR

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        write = _Writer(context, builder, signature, arguments)
        grid_data, begin = write.array(0).data, arguments[1]
        plane_array, row_array = write.array(2), write.array(3)
        kernel_data, out_data = write.array(4).data, write.array(5).data

        def kernel(axis: int, order: int, j: Any) -> Any:
            place = write.at(kernel_data, (axis * 3 + order) * lanes, j)
            return write.broadcast(builder.load(place))

        by_row = write.totals(3 * chunks)
        by_plane = write.totals(6 * chunks)
        write.clear(by_plane)
        with cgutils.for_range(builder, write.length(plane_array)) as plane:
            base = builder.add(begin, builder.load(builder.gep(plane_array.data, [plane.index])))
            write.clear(by_row)
            with cgutils.for_range(builder, write.length(row_array)) as row:
                offset = builder.load(builder.gep(row_array.data, [row.index]))
                values = [write.vector(write.at(grid_data, base, offset, c * VECTOR)) for c in range(chunks)]
                for order in range(3):
                    factor = kernel(1, order, row.index)
                    for c in range(chunks):
                        write.add(by_row[order * chunks + c], values[c], factor)
            across = [kernel(0, order, plane.index) for order in range(3)]
            # (y, z) orders: 00, 10, 20, 01, 11, 02
            for p, (y, z) in enumerate(((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (0, 2))):
                for c in range(chunks):
                    write.add(by_plane[p * chunks + c], builder.load(by_row[y * chunks + c]), across[z])
        # Which of the six, and which order along x: W; z, y, x; zz, zy, zx, yy, yx, xx.
        for place, (p, x) in enumerate(
            ((0, 0), (3, 0), (1, 0), (0, 1), (5, 0), (4, 0), (3, 1), (2, 0), (1, 1), (0, 2))
        ):
            total = ir.Constant(_FOUR, [0.0] * VECTOR)
            for c in range(chunks):
                factor = write.vector(write.at(kernel_data, (6 + x) * lanes + c * VECTOR))
                total = write.fused(builder.load(by_plane[p * chunks + c]), factor, total)
            parts = [builder.extract_element(total, ir.Constant(ir.IntType(32), j)) for j in range(VECTOR)]
            result = builder.fadd(builder.fadd(parts[0], parts[1]), builder.fadd(parts[2], parts[3]))
            builder.store(result, write.at(out_data, place))
        return context.get_dummy_value()

    return types.void(grid, types.int64, planes, rows, kernels, out, like), generate


@intrinsic
def spread_one(
    typing_context: Any, grid: Any, start: Any, planes: Any, rows: Any, kernels: Any, weight: Any, like: Any
) -> Any:
    """Add one point to a grid; the arguments are those of `contract`."""
    lanes = like.count
    chunks = lanes // VECTOR

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        write = _Writer(context, builder, signature, arguments)
        grid_data, begin, point_weight = write.array(0).data, arguments[1], arguments[5]
        plane_array, row_array, kernel_data = write.array(2), write.array(3), write.array(4).data
        along = [write.vector(write.at(kernel_data, 6 * lanes + c * VECTOR)) for c in range(chunks)]
        with cgutils.for_range(builder, write.length(plane_array)) as plane:
            base = builder.add(begin, builder.load(builder.gep(plane_array.data, [plane.index])))
            across = builder.fmul(point_weight, builder.load(write.at(kernel_data, plane.index)))
            with cgutils.for_range(builder, write.length(row_array)) as row:
                place = builder.add(base, builder.load(builder.gep(row_array.data, [row.index])))
                height = builder.load(write.at(kernel_data, 3 * lanes, row.index))
                factor = write.broadcast(builder.fmul(across, height))
                for c in range(chunks):
                    address = write.at(grid_data, place, c * VECTOR)
                    write.put_vector(write.fused(along[c], factor, write.vector(address)), address)
        return context.get_dummy_value()

    return types.void(grid, types.int64, planes, rows, kernels, types.float64, like), generate
