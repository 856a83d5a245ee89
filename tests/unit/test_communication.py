"""Names of kernels as profilers print them: which of them move data between GPUs."""

from __future__ import annotations

import re

import pytest

from warpline.model.communication import COMMUNICATION_CALL, KERNEL_PATTERNS, is_communication

COMMUNICATES = {
    "NCCL": (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, channelMasks, ncclWork*)",
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
        "ncclSymDevKernel_ReduceScatter_LD_sum_bf16(ncclSymDevArgs)",
        "_Z40ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE",
    ),
    "RCCL": (
        "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
        "rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)",
        "mscclKernel_Sum_hip_bfloat16_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)",
    ),
    "HCCL": (
        "hcom_allReduce__586_0_1",
        "hcom_broadcast_123_1_1",
        "hcom_receive_1_2_1",
        "HcclAllreduce",
        "HcomAllReduce",
    ),
    "oneCCL": ("oneccl_allreduce_pcie", "oneapi::ccl::v1::allgatherv_kernel"),
    "MSCCL++": ("void mscclpp::collective::allreduceAllToAll<__half>(__half*, mscclpp::DeviceHandle<x>*)",),
    "NVSHMEM": (
        "void barrier_on_stream_kernel_threadgroup<(threadgroup_t)1>(int, int)",
        "void nvshmemi_proxy_rma_entrypoint_blocking(rma_args)",
        "sync_all_on_stream_kernel()",
    ),
    "DeepEP": (
        "void deep_ep::intranode::notify_dispatch<8>(int const*, int*, int)",
        "void deep_ep::internode::dispatch<false, 8, true, 4096, 8>(int4*, float*)",
        "void deep_ep::internode_ll::combine<false, 7168, 9, 4>(void*, void*)",
        "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*, float*, int*)",
        "void deep_ep::intranode::cached_notify_combine<8>(void**, int*, int)",
        "_ZN7deep_ep12internode_ll7combineILb0ELi7168ELi9ELi4EEEvPv",
    ),
    "vLLM, SGLang, AITER": (
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, vllm::Signal*)",
        "void vllm::cross_device_reduce_2stage<c10::Half, 4>(vllm::RankData*)",
        "void sglang::cross_device_reduce_1stage<__half, 2>(sglang::RankData*)",
        "void aiter::cross_device_reduce_2stage<__hip_bfloat16, 8, false>(aiter::RankData*)",
        "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>>(__half const*)",
    ),
    "others": (
        "void tensorrt_llm::kernels::oneShotAllReduceKernel<__nv_bfloat16, 8>(AllReduceParams)",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<8>(Params)",
        "void c10d::symmetric_memory::two_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(c10::BFloat16**)",
        "multimem_all_gather_kernel",
        "moeA2ADispatchKernel<__nv_bfloat16>",
        "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>",
        "dlslime::intranode_alltoall_kernel",
        "EpDispatch::mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>",
    ),
}
COMPUTES = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>>>(x)",
    "void splitKreduce_kernel<float, float, float>(cublasSplitKParams<float>, float const*)",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::cublasSplitKParams<float>)",
    "void cutlass_cudnn_train::Kernel<cutlass_cudnn_train::reduction::kernel::ReduceSplitK<x>>(x)",
    "void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*>>(x)",
    "void reduce_1Block_kernel<float, 128, 7>(double const*)",
    "void at::native::_scatter_gather_elementwise_kernel<128, 4>(int)",
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int)",
    "void phi::funcs::VectorizedBroadcastKernel<float, float, phi::AddFunctor<float>, 2, 1, 4, 2>(x)",
    "void phi::funcs::BroadcastKernelBinary<float, 1>(x)",
    "void oneflow::cuda::layer_norm::LayerNormBlockAllReduce<float>(x)",
    "void norm_kernel<float, WarpAllReduce<float, 32>>(x)",
    "void blockAllReduceSum<float>(float*)",
    "void softmax_warp_forward<float, float, float, 6, false, false>(float*, float const*, int)",
    "flash_fwd_splitkv_mla_combine_kernel",
    "void dispatch_moe_gemm<__half>(x)",
    "void vllm::moe::count_and_sort_expert_tokens_kernel<int>(x)",
    "_finalize_matmul_scatter_bf16",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas",
    "__amd_rocclr_copyBuffer.kd",
    "Memcpy PtoP (Device -> Device)",
    "void grid_sync_barrier_kernel(int*)",
)


@pytest.mark.parametrize("library", COMMUNICATES)
def test_kernels_that_move_data_between_gpus(library: str) -> None:
    assert [name for name in COMMUNICATES[library] if not is_communication(name)] == []


def test_false_friends_that_compute() -> None:
    assert [name for name in COMPUTES if is_communication(name)] == []


def test_every_pattern_knows_a_kernel() -> None:
    names = [name for found in COMMUNICATES.values() for name in found]
    for library, pattern in KERNEL_PATTERNS:
        assert any(re.search(pattern, name, re.IGNORECASE) for name in names), library or pattern


@pytest.mark.parametrize(
    ("name", "communicates"),
    [
        ("nccl:all_reduce", True),
        ("c10d::allreduce_", True),
        ("gloo:all_reduce", True),
        ("HcclAllreduce", True),
        ("hcom_allReduce__586_0_1", True),
        ("record_param_comms", True),
        ("torch.distributed.ddp.reducer::copy_bucket_to_grad", False),
        ("numpy/lib/stride_tricks.py(363): broadcast_to", False),
        ("hccl", False),
        ("train_nccl_model", False),
    ],
)
def test_calls_that_ask_for_communication(name: str, communicates: bool) -> None:
    assert bool(COMMUNICATION_CALL.search(name)) == communicates
