// Kernels that ask every kind of table through crates/warpnest/include/warpnest.cuh, for nvcc: they
// show that the header compiles for the device.
#include "warpnest.cuh"

#include <cstdint>

using u32 = std::uint32_t;
using u64 = std::uint64_t;

#define ASK(TABLE, K, V)                                                                                              \
    extern "C" __global__ void ask_##TABLE##_##K##_##V(warpnest::TABLE##_ref<K, V> map, const K *queries, V *values,   \
                                                       u64 count) {                                                   \
        const u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;                                        \
        V value = 0;                                                                                                  \
        if (i < count) {                                                                                              \
            values[i] = map.get(queries[i], value) ? value : 0;                                                       \
        }                                                                                                             \
    }

#define FLAG(TABLE, K)                                                                                                \
    extern "C" __global__ void flag_##TABLE##_##K(warpnest::TABLE##_ref<K, warpnest::nothing> set, const K *queries,   \
                                                  bool *found, u64 count) {                                           \
        const u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;                                        \
        if (i < count) {                                                                                              \
            found[i] = set.contains(queries[i]);                                                                      \
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
