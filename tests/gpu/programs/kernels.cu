// Kernels through the CUDA runtime: in threads with a default stream each, or with a reset of the device in between.
//   kernels {threads,reset}
// Prints what a recording must hold, as key=value lines.
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

static const int workers = 3, launches = 200;

__global__ void count_up(unsigned *numbers) { numbers[blockIdx.x * blockDim.x + threadIdx.x]++; }

static bool is_good(cudaError_t result, const char *call)
{
    if (result != cudaSuccess)
        std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
    return result == cudaSuccess;
}

static bool work()
{
    unsigned *numbers = nullptr;
    if (!is_good(cudaMalloc(&numbers, 16 * 128 * sizeof *numbers), "cudaMalloc"))
        return false;
    for (int i = 0; i < launches; i++)
        count_up<<<16, 128>>>(numbers);
    return is_good(cudaGetLastError(), "launch") & is_good(cudaStreamSynchronize(0), "cudaStreamSynchronize");
}

int main(int count, char **arguments)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
        std::fprintf(stderr, "the CUDA runtime finds no GPU\n");
        return 77;
    }
    bool good = true;
    int batches = 0;
    if (count > 1 && !std::strcmp(arguments[1], "reset")) {
        for (; batches < 3; batches++)
            good = work() && is_good(cudaDeviceReset(), "cudaDeviceReset") && good;
    } else {
        std::vector<std::thread> threads;
        bool results[workers] = {};
        for (; batches < workers; batches++)
            threads.emplace_back([&results, batches] { results[batches] = work(); });
        for (auto &thread : threads)
            thread.join();
        for (bool result : results)
            good = good && result;
    }
    std::printf("kernels=%d\nthreads=%d\n", batches * launches, workers);
    return good ? 0 : 1;
}
