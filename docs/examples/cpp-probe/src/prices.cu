// Code in CUDA C++ that knows nothing of Rust, but for a table that it is handed.
#include "warpnest.cuh"

#include <cstddef>
#include <cstdint>

namespace {

using prices_ref = warpnest::page_ref<std::uint64_t, std::uint32_t>;

// The total of an order, or 0 if its product has no price.
WARPNEST_FN std::uint64_t total(const prices_ref &prices, std::uint64_t product, std::uint32_t quantity) {
    std::uint32_t price = 0;
    return prices.get(product, price) ? static_cast<std::uint64_t>(price) * quantity : 0;
}

#if defined(__CUDACC__)
__global__ void total_orders(prices_ref prices, const std::uint64_t *products, const std::uint32_t *quantities,
                             std::uint64_t *totals, std::size_t orders) {
    const std::size_t order = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (order < orders) {
        totals[order] = total(prices, products[order], quantities[order]);
    }
}
#endif

} // namespace

// Totals orders on a CUDA stream, or on the host if there is none. Returns a cudaError_t, or -1 if
// there is a stream and this was compiled without nvcc.
extern "C" int price_orders(prices_ref prices, const std::uint64_t *products, const std::uint32_t *quantities,
                            std::uint64_t *totals, std::size_t orders, void *stream) {
    if (stream == nullptr) {
        for (std::size_t order = 0; order < orders; order++) {
            totals[order] = total(prices, products[order], quantities[order]);
        }
        return 0;
    }
#if defined(__CUDACC__)
    const unsigned blocks = static_cast<unsigned>((orders + 127) / 128);
    if (blocks != 0) {
        total_orders<<<blocks, 128, 0, static_cast<cudaStream_t>(stream)>>>(prices, products, quantities, totals, orders);
    }
    return cudaGetLastError();
#else
    return -1;
#endif
}
