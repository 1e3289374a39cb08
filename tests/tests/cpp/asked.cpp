// Functions that query tables through crates/warpnest/include/warpnest.cuh, for a test in Rust.
// Each is for a kind of table and a choice of words, and runs `count` queries at `queries`.
#include "warpnest.cuh"

#include <cstddef>
#include <cstdint>

using u32 = std::uint32_t;
using u64 = std::uint64_t;

namespace {

template <class REF, class K, class V>
void ask(const REF &ref, const K *queries, std::size_t count, V *values, bool *found) {
    for (std::size_t i = 0; i < count; i++) {
        V value = 0;
        found[i] = ref.get(queries[i], value);
        values[i] = value;
        // A disagreement makes the answer wrong, so the test fails.
        if (ref.contains(queries[i]) != found[i]) {
            found[i] = !found[i];
        }
    }
}

} // namespace

#define ASK(TABLE, K, V)                                                                                              \
    extern "C" void TABLE##_##K##_##V(const warpnest::TABLE##_ref<K, V> *ref, const K *queries, std::size_t count,     \
                                      V *values, bool *found) {                                                       \
        ask(*ref, queries, count, values, found);                                                                     \
    }

#define FLAG(TABLE, K)                                                                                                \
    extern "C" void TABLE##_##K(const warpnest::TABLE##_ref<K, warpnest::nothing> *ref, const K *queries,              \
                                std::size_t count, bool *found) {                                                     \
        for (std::size_t i = 0; i < count; i++) {                                                                     \
            found[i] = ref->contains(queries[i]);                                                                     \
        }                                                                                                             \
    }

#define ALL(TABLE) ASK(TABLE, u32, u32) ASK(TABLE, u32, u64) ASK(TABLE, u64, u32) ASK(TABLE, u64, u64)

ALL(page)
ALL(cuckoo)
ALL(linear)
FLAG(page, u32)
FLAG(page, u64)
FLAG(cuckoo, u32)
FLAG(cuckoo, u64)

// The sizes that Rust's structs must have.
extern "C" std::size_t size_of_page() { return sizeof(warpnest::page_ref<u64, u32>); }
extern "C" std::size_t size_of_cuckoo() { return sizeof(warpnest::cuckoo_ref<u64, u32>); }
extern "C" std::size_t size_of_linear() { return sizeof(warpnest::linear_ref<u64, u32>); }
