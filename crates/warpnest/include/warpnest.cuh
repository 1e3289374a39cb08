// Tables of warpnest, asked from CUDA C++: what `Uses::table` gives in Rust goes by value to a
// function or a kernel in C++, which looks keys up in any thread.
//
//     template <class K, class V> struct warpnest::page_ref;    // PageMap, and PageSet with nothing
//     template <class K, class V> struct warpnest::cuckoo_ref;  // CuckooMap, and CuckooSet
//     template <class K, class V> struct warpnest::linear_ref;  // LinearMap
//
// Each has
//
//     bool get(K key, V &value) const;  // writes the value and returns true if the key is there
//     bool contains(K key) const;
//
// K and V are std::uint32_t or std::uint64_t, the words of the Rust types. All keys are found. No
// thread may change the table meanwhile. The structs have the layout of `gpu_kernels::refs`, which
// tests compare; a ref is good for the launch that it was made for. Pass a ref by value:
//
//     __global__ void count(warpnest::page_ref<std::uint64_t, std::uint32_t> map, ...)
//
// C++17, by nvcc; without CUDA by GCC or Clang, and then for tables of the CPU engine.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__CUDACC__)
#define WARPNEST_FN __host__ __device__ __forceinline__
#define WARPNEST_UNROLL _Pragma("unroll")
#else
#define WARPNEST_FN inline
#define WARPNEST_UNROLL
#endif

namespace warpnest {

// The payload of a set.
struct nothing {};

namespace detail {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

template <class W> constexpr unsigned bits = 8 * sizeof(W);

WARPNEST_FN u32 mulhi(u32 a, u32 b) { return static_cast<u32>(static_cast<u64>(a) * b >> 32); }

WARPNEST_FN u64 mulhi(u64 a, u64 b) {
#if defined(__CUDA_ARCH__)
    return __umul64hi(a, b);
#else
    __extension__ using wide = unsigned __int128;
    return static_cast<u64>(static_cast<wide>(a) * b >> 64);
#endif
}

// The part of the range that a word is in, of `whole` equal parts.
template <class W> WARPNEST_FN u32 scaled(W word, u32 whole) {
    return static_cast<u32>(mulhi(word, static_cast<W>(whole)));
}

WARPNEST_FN u32 mixed(u32 key, u64 a, u64 b) {
    u32 x = key ^ static_cast<u32>(a);
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= x >> 15;
    x *= static_cast<u32>(b) | 1;
    return x ^ x >> 15;
}

WARPNEST_FN u64 mixed(u64 key, u64 a, u64 b) {
    u64 x = key ^ a;
    x ^= x >> 32;
    x *= 0x0e9846af9b1a615dull;
    x ^= x >> 32;
    x *= b | 1;
    return x ^ x >> 28;
}

// Loads a word that no thread of the launch changes.
template <class W> WARPNEST_FN W load(const W *at) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(W) == 8) {
        return static_cast<W>(__ldg(reinterpret_cast<const unsigned long long *>(at)));
    } else {
        return static_cast<W>(__ldg(reinterpret_cast<const unsigned int *>(at)));
    }
#else
    return *at;
#endif
}

// Loads 16 bytes at once, from an address that is a multiple of 16.
template <class W> WARPNEST_FN void load_16(const W *at, W (&words)[16 / sizeof(W)]) {
#if defined(__CUDA_ARCH__)
    const uint4 loaded = __ldg(reinterpret_cast<const uint4 *>(at));
    std::memcpy(words, &loaded, 16);
#else
    std::memcpy(words, at, 16);
#endif
}

// The wider of the words of a key and a value.
template <class K, class V> struct packed_word {
    using type = std::conditional_t<(sizeof(V) > sizeof(K)), V, K>;
};
template <class K> struct packed_word<K, nothing> {
    using type = K;
};
template <class K, class V> using packed = typename packed_word<K, V>::type;

template <class V> constexpr bool has_values = !std::is_same_v<V, nothing>;

template <class K, class V> WARPNEST_FN constexpr void check_types() {
    static_assert(std::is_same_v<K, u32> || std::is_same_v<K, u64>, "keys are std::uint32_t or std::uint64_t");
    static_assert(std::is_same_v<V, u32> || std::is_same_v<V, u64> || std::is_same_v<V, nothing>,
                  "values are std::uint32_t, std::uint64_t or warpnest::nothing");
}

// The forms of a page table's bucket: eight words, of which TAG_WORDS hold tags and filter bits.
enum class form { thirds, halves, wholes };

template <form FORM, unsigned TAG_WORDS> struct bucket {
    static constexpr unsigned words = 8;
    static constexpr unsigned tag_words = TAG_WORDS;
    static constexpr unsigned tags = FORM == form::thirds ? 3 : FORM == form::halves ? 2 : 1;
    static constexpr unsigned classes =
        FORM == form::thirds ? 2 * TAG_WORDS : FORM == form::halves ? 16 : TAG_WORDS;

    template <class W> WARPNEST_FN static constexpr unsigned tag_bits() {
        return FORM == form::thirds ? 10 : FORM == form::halves ? 16 : bits<W> - 1;
    }
    WARPNEST_FN static constexpr unsigned tags_in(unsigned word) {
        return FORM == form::halves && word + 1 == TAG_WORDS ? 1 : tags;
    }
    // The word and the bit of the filter bit of a class.
    template <class W> WARPNEST_FN static void filter(u32 remainder, unsigned &word, unsigned &bit) {
        const unsigned of = remainder % classes;
        word = FORM == form::thirds ? of / 2 : FORM == form::halves ? TAG_WORDS - 1 : of;
        bit = FORM == form::thirds ? 30 + of % 2 : FORM == form::halves ? 16 + of : bits<W> - 1;
    }
};

} // namespace detail

// The layout of a page table: gpu_kernels::page::Layout.
struct page_layout {
    std::uint64_t a, b;
    std::uint32_t page_bits, page_buckets, slots, candidates;
    std::uint64_t remainders;
    std::uint32_t holes, padding;
};
static_assert(sizeof(page_layout) == 48);

template <class K, class V> struct page_ref {
    const std::uint64_t *words;
    page_layout layout;

    WARPNEST_FN bool get(K key, V &value) const {
        static_assert(detail::has_values<V>, "a set has no values: ask contains");
        word found = 0;
        const bool there = find(key, found);
        if (there) {
            value = static_cast<V>(found);
        }
        return there;
    }
    WARPNEST_FN bool contains(K key) const {
        word found = 0;
        return find(key, found);
    }

  private:
    using word = detail::packed<K, V>;

    WARPNEST_FN bool find(K key, word &value) const {
        using detail::form;
        detail::check_types<K, V>();
        if (words == nullptr) {
            return false;
        }
        const K mixed = detail::mixed(key, layout.a, layout.b);
        // Wide words have one form.
        if constexpr (sizeof(word) == 4) {
            if constexpr (detail::has_values<V>) {
                if (layout.slots == 6) {
                    return find_in<detail::bucket<form::thirds, 2>>(mixed, value);
                }
                if (layout.slots == 5) {
                    return find_in<detail::bucket<form::halves, 3>>(mixed, value);
                }
            } else {
                if (layout.slots == 24) {
                    return find_in<detail::bucket<form::thirds, 8>>(mixed, value);
                }
                if (layout.slots == 15) {
                    return find_in<detail::bucket<form::halves, 8>>(mixed, value);
                }
            }
        }
        return find_in<detail::bucket<form::wholes, detail::has_values<V> ? 4 : 8>>(mixed, value);
    }

    // Asks the buckets in which a key may be, one after the other.
    template <class BUCKET> WARPNEST_FN bool find_in(K mixed, word &value) const {
        const std::uint32_t buckets = layout.page_buckets << layout.page_bits;
        const std::uint32_t home = detail::scaled(mixed, buckets);
        const std::uint32_t in_page = detail::scaled(static_cast<K>(mixed << layout.page_bits), layout.page_buckets);
        const word remainder = remainder_of(mixed, buckets);
        for (std::uint32_t number = 0; number < layout.candidates; number++) {
            const std::uint32_t bucket = home - in_page + candidate(in_page, remainder, number);
            const word tag = static_cast<word>(remainder + number * layout.remainders + 1);
            bool free = false, filtered = false;
            if (look<BUCKET>(bucket, remainder, tag, value, free, filtered)) {
                return true;
            }
            // No key of this class had to leave its home; or a key would be here, not further on.
            if (number == 0 ? !filtered : free && layout.holes == 0) {
                return false;
            }
        }
        return false;
    }

    WARPNEST_FN word remainder_of(K mixed, std::uint32_t buckets) const {
        if constexpr (sizeof(word) == 4) {
            const K within = static_cast<K>(mixed * buckets);
            return detail::mulhi(within, static_cast<K>(layout.remainders));
        } else {
            return static_cast<word>(mixed & (layout.remainders - 1));
        }
    }

    WARPNEST_FN std::uint32_t candidate(std::uint32_t home, word remainder, std::uint32_t number) const {
        if (number < 2) {
            return home ^ number;
        }
        std::uint32_t x = static_cast<std::uint32_t>(remainder) * 0x9e3779b1u + number * 0x85ebca77u;
        x = (x ^ x >> 15) * 0x21f0aaadu;
        const std::uint32_t bucket = home + 2 + detail::scaled(x ^ x >> 16, layout.page_buckets - 2);
        return bucket < layout.page_buckets ? bucket : bucket - layout.page_buckets;
    }

    template <class BUCKET>
    WARPNEST_FN bool look(std::uint32_t bucket, word remainder, word tag, word &value, bool &free,
                          bool &filtered) const {
        constexpr unsigned at_once = 16 / sizeof(word), tag_bits = BUCKET::template tag_bits<word>();
        constexpr word mask = (static_cast<word>(1) << tag_bits) - 1;
        const word *first = reinterpret_cast<const word *>(words) + static_cast<std::uint64_t>(bucket) * BUCKET::words;
        constexpr unsigned tag_words = BUCKET::tag_words;
        unsigned filter_word, filter_bit;
        BUCKET::template filter<word>(static_cast<std::uint32_t>(remainder), filter_word, filter_bit);
        bool there = false;
        unsigned slot = 0;
        WARPNEST_UNROLL
        for (unsigned from = 0; from < tag_words; from += at_once) {
            word held[at_once];
            detail::load_16(first + from, held);
            WARPNEST_UNROLL
            for (unsigned i = 0; i < at_once; i++) {
                if (from + i < tag_words) {
                    filtered |= from + i == filter_word && (held[i] >> filter_bit & 1) != 0;
                    WARPNEST_UNROLL
                    for (unsigned of = 0; of < BUCKET::tags_in(from + i); of++) {
                        const word here = held[i] >> (tag_bits * of) & mask;
                        free |= here == 0;
                        if (here == tag) {
                            there = true;
                            slot = (from + i) * BUCKET::tags + of;
                        }
                    }
                }
            }
        }
        if (detail::has_values<V> && there) {
            value = detail::load(first + tag_words + slot);
        }
        return there;
    }
};

// A divisor with its reciprocal: gpu_kernels::hash::Divisor.
struct divisor {
    std::uint64_t reciprocal, value;

    WARPNEST_FN std::uint64_t remainder(std::uint64_t x) const {
        // The estimated quotient is at most 2 too small (Barrett).
        std::uint64_t rest = x - detail::mulhi(x, reciprocal) * value;
        rest -= rest >= value ? value : 0;
        rest -= rest >= value ? value : 0;
        return rest;
    }
};

// The hash functions of a cuckoo table: gpu_kernels::hash::HashFunctions.
struct hash_functions {
    std::uint64_t constants[5][2];
    divisor prime, slots;
    // 0: a mix of the key; 1: a·k + b; 2: the same, wrapping; 3: (a ^ k) + b; 4: the same, wrapping.
    std::uint32_t formula, count;

    template <class K> WARPNEST_FN std::uint32_t slot(unsigned function, K key) const {
        const std::uint64_t a = constants[function][0], b = constants[function][1];
        if (formula == 0) {
            const K mixed = detail::mixed(key, a, b);
            const std::uint32_t upper = static_cast<std::uint32_t>(mixed >> (detail::bits<K> - 32));
            return detail::mulhi(upper, static_cast<std::uint32_t>(slots.value));
        }
        const bool wrapping = formula == 2 || formula == 4;
        const std::uint64_t sum = formula <= 2 ? linear(key, a, b, wrapping) : exclusive(key, a, b, wrapping);
        return static_cast<std::uint32_t>(slots.remainder(prime.remainder(sum)));
    }

  private:
    WARPNEST_FN std::uint64_t linear(std::uint32_t key, std::uint64_t a, std::uint64_t b, bool wrapping) const {
        const std::uint64_t sum = a * key + b;
        return wrapping ? static_cast<std::uint32_t>(sum) : sum;
    }
    WARPNEST_FN std::uint64_t linear(std::uint64_t key, std::uint64_t a, std::uint64_t b, bool wrapping) const {
        return a * (wrapping ? key : prime.remainder(key)) + b;
    }
    WARPNEST_FN std::uint64_t exclusive(std::uint32_t key, std::uint64_t a, std::uint64_t b, bool wrapping) const {
        const std::uint64_t sum = (a ^ key) + b;
        return wrapping ? static_cast<std::uint32_t>(sum) : sum;
    }
    WARPNEST_FN std::uint64_t exclusive(std::uint64_t key, std::uint64_t a, std::uint64_t b, bool wrapping) const {
        return (wrapping ? a ^ key : prime.remainder(a ^ key)) + b;
    }
};
static_assert(sizeof(hash_functions) == 120);

template <class K, class V> struct cuckoo_ref {
    const void *words;
    const std::uint64_t *header;
    hash_functions functions;

    WARPNEST_FN bool get(K key, V &value) const {
        static_assert(detail::has_values<V>, "a set has no values: ask contains");
        std::uint64_t found = 0;
        const bool there = find(key, found);
        if (there) {
            value = static_cast<V>(found);
        }
        return there;
    }
    WARPNEST_FN bool contains(K key) const {
        std::uint64_t found = 0;
        return find(key, found);
    }

  private:
    WARPNEST_FN bool find(K key, std::uint64_t &value) const {
        detail::check_types<K, V>();
        if (key == static_cast<K>(~static_cast<K>(0))) {
            value = detail::load(header + 1);
            return detail::load(header) != 0;
        }
        WARPNEST_UNROLL
        for (unsigned function = 0; function < 5; function++) {
            if (function >= functions.count) {
                return false;
            }
            std::uint64_t held;
            bool empty;
            load_slot(functions.slot(function, key), held, value, empty);
            // A key is in none of the slots behind an empty one.
            if (empty || held == key) {
                return !empty;
            }
        }
        return false;
    }

    // Loads a slot: key and value in one word, the key alone, or two words.
    WARPNEST_FN void load_slot(std::uint64_t slot, std::uint64_t &key, std::uint64_t &value, bool &empty) const {
        if constexpr (!detail::has_values<V>) {
            const K held = detail::load(static_cast<const K *>(words) + slot);
            key = held;
            empty = held == static_cast<K>(~static_cast<K>(0));
        } else if constexpr (sizeof(K) == 4 && sizeof(V) == 4) {
            const std::uint64_t held = detail::load(static_cast<const std::uint64_t *>(words) + slot);
            key = held >> 32;
            value = held & 0xffffffffu;
            empty = held == ~static_cast<std::uint64_t>(0);
        } else {
            std::uint64_t held[2];
            detail::load_16(static_cast<const std::uint64_t *>(words) + 2 * slot, held);
            key = held[0];
            value = held[1];
            empty = key == ~static_cast<std::uint64_t>(0);
        }
    }
};

// The layout of a linear table: gpu_kernels::linear::Layout.
struct linear_layout {
    std::uint64_t a, b;
    std::uint32_t lines, linear;
};
static_assert(sizeof(linear_layout) == 24);

template <class K, class V> struct linear_ref {
    const void *words;
    const std::uint64_t *header;
    linear_layout layout;

    WARPNEST_FN bool get(K key, V &value) const {
        detail::check_types<K, V>();
        static_assert(detail::has_values<V>, "a linear map has values");
        half found = 0;
        const bool there = key == static_cast<K>(~static_cast<K>(0)) ? in_cell(found) : find(key, found);
        if (there) {
            value = static_cast<V>(found);
        }
        return there;
    }
    WARPNEST_FN bool contains(K key) const {
        V value;
        return get(key, value);
    }

  private:
    // A slot is two halves: the value, and behind it the key.
    using half = detail::packed<K, V>;
    static constexpr unsigned slots_of_bucket = 32 / (2 * sizeof(half));
    static constexpr half all_ones = static_cast<half>(~static_cast<half>(0));

    WARPNEST_FN bool in_cell(half &value) const {
        half cell[16 / sizeof(half)];
        detail::load_16(reinterpret_cast<const half *>(header), cell);
        value = cell[0];
        return cell[1] != 0;
    }

    WARPNEST_FN bool find(half key, half &value) const {
        const half mixed = detail::mixed(key, layout.a, layout.b);
        const std::uint32_t low = static_cast<std::uint32_t>(mixed);
        const std::uint32_t step = layout.linear != 0 ? 1 : 1 + detail::mulhi(low * 0x9e3779b1u, layout.lines - 1);
        std::uint32_t bucket = 2 * detail::scaled(mixed, layout.lines) + low / slots_of_bucket % 2;
        for (std::uint32_t probed = 0; probed < 2 * layout.lines; probed++) {
            const half *first =
                static_cast<const half *>(words) + static_cast<std::uint64_t>(bucket) * (2 * slots_of_bucket);
            bool own = false, ends = false;
            WARPNEST_UNROLL
            for (unsigned from = 0; from < 2 * slots_of_bucket; from += 16 / sizeof(half)) {
                half held[16 / sizeof(half)];
                detail::load_16(first + from, held);
                WARPNEST_UNROLL
                for (unsigned i = 0; i < 16 / sizeof(half); i += 2) {
                    if (held[i + 1] == key) {
                        own = true;
                        value = held[i];
                    }
                    // Empty, or where the key was before it was removed.
                    ends |= held[i + 1] == all_ones && (held[i] == all_ones || held[i] == key);
                }
            }
            if (own || ends) {
                return own;
            }
            bucket ^= 1;
            if (probed % 2 == 1) {
                const std::uint32_t next = bucket + 2 * step;
                bucket = next < 2 * layout.lines ? next : next - 2 * layout.lines;
            }
        }
        return false;
    }
};

// Refs go by value from Rust to C++, and to kernels.
template <class REF> constexpr bool is_plain = std::is_trivially_copyable_v<REF> && std::is_standard_layout_v<REF>;
static_assert(is_plain<page_ref<std::uint64_t, std::uint32_t>> && is_plain<cuckoo_ref<std::uint64_t, std::uint32_t>> &&
              is_plain<linear_ref<std::uint64_t, std::uint32_t>>);

} // namespace warpnest
