// Vectors as wide as the processor has them, by the compilers' vector extensions, and 2**y on them.
#pragma once
#include "core.hpp"

#if defined(__AVX512F__)
#define HF_BYTES 64
#elif defined(__AVX2__)
#define HF_BYTES 32
#else
#define HF_BYTES 16
#endif
#define HF_INLINE inline __attribute__((always_inline))

namespace HF_ISA {

template <class T> struct Lanes;
template <> struct Lanes<double> {
    typedef double V __attribute__((vector_size(HF_BYTES)));
    typedef double Loose __attribute__((vector_size(HF_BYTES), aligned(8), may_alias));
    typedef std::int64_t I __attribute__((vector_size(HF_BYTES)));
    typedef std::uint64_t Bits __attribute__((vector_size(HF_BYTES)));
    static constexpr double magic = 6755399441055744.0, least = -1000.0, least_root = -500.0;
    static constexpr int mantissa = 52, degree = 10;
    // Interpolation of exp at the Chebyshev nodes of [-log(2)/2, log(2)/2], computed with fifty digits.
    static constexpr double exp[] = {1.0, 1.0000000000000067, 0.5000000000000006, 0.16666666666554314,
        0.041666666666573066, 0.008333333385699212, 0.001388888893251478, 0.00019841170230570286,
        2.480150431378554e-05, 2.764019739169484e-06, 2.7626371065696354e-07};
};
template <> struct Lanes<float> {
    typedef float V __attribute__((vector_size(HF_BYTES)));
    typedef float Loose __attribute__((vector_size(HF_BYTES), aligned(4), may_alias));
    typedef std::int32_t I __attribute__((vector_size(HF_BYTES)));
    typedef std::uint32_t Bits __attribute__((vector_size(HF_BYTES)));
    static constexpr float magic = 12582912.0f, least = -126.0f, least_root = -56.0f;
    static constexpr int mantissa = 23, degree = 5;
    static constexpr double exp[] = {1.00000007550023, 1.00000001077804, 0.4999886892528609, 0.1666650519575811,
        0.04191755754136265, 0.008369155667697397};
};
template <class T> using Vector = typename Lanes<T>::V;
template <class T> constexpr Index WIDTH = HF_BYTES / sizeof(T);
constexpr Index MOST = HF_BYTES / 4;  // numbers in the widest vector

template <class T> constexpr Index whole(Index count) { return (count + WIDTH<T> - 1) / WIDTH<T> * WIDTH<T>; }
template <class T> HF_INLINE Vector<T> all(T x) { return x - Vector<T>{}; }
template <class T> HF_INLINE Vector<T> load(const T* x) { return *(const typename Lanes<T>::Loose*)x; }
template <class T> HF_INLINE void store(T* x, Vector<T> v) { *(typename Lanes<T>::Loose*)x = v; }

// Always in the same order.
template <class T> HF_INLINE T total(Vector<T> v) {
    T a[WIDTH<T>];
    store<T>(a, v);
    for (Index half = WIDTH<T> / 2; half; half /= 2)
        for (Index i = 0; i < half; i++) a[i] += a[i + half];
    return a[0];
}

// The coefficients of 2**f: those of exp times powers of log 2. An array that is a constant: a function that makes it
// was multiplied out again for every vector.
template <class T> struct Polynomial {
    T of[Lanes<T>::degree + 1]{};
    constexpr Polynomial() {
        double scale = 1.0;
        for (int k = 0; k <= Lanes<T>::degree; k++, scale *= 0.6931471805599453) of[k] = T(Lanes<T>::exp[k] * scale);
    }
};

// 2**y for y <= 0, with a relative error of 5.5e-16 (2.5e-7 in single precision); 0 below `least`, before numbers lose
// digits. Of a root g that is `least_root`: w = g * g and w times small lengths lose digits earlier, and a processor may
// take a hundred times as long for them. Adding the magic number rounds to an integer, which then stands in the lowest bits.
template <class T> HF_INLINE Vector<T> exp2(Vector<T> y, T least = Lanes<T>::least) {
    using L = Lanes<T>;
    using V = Vector<T>;
    using Bits = typename L::Bits;  // without a sign: they overflow
    constexpr Polynomial<T> c;
    const V shifted = y + L::magic, f = y - (shifted - L::magic);
    V p = all<T>(c.of[L::degree]);
#pragma GCC unroll 16
    for (int k = L::degree - 1; k >= 0; k--) p = p * f + c.of[k];
    return (V)(((Bits)p + ((Bits)shifted << L::mantissa)) & (Bits)(y >= least));
}

}  // namespace HF_ISA
