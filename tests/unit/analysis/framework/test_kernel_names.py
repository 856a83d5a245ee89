"""Short names of kernels, over names as the profilers write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.analysis.framework import kernel_names
from warpline.analysis.framework.kernel_names import short_kernel_name, short_kernel_names

_BASE = "at::TensorIteratorBase&"
_INNER = "::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}"
_CUTLASS = "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8"
_XMMA = (
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1"
    "_execute_segment_k_off_kernel__5x_cublas"
)
_NAMES = {
    f"void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl({_BASE}, "
    f"at::native::GeluType){_INNER}, std::array<char*, 2ul> >(int, at::native::GeluCUDAKernelImpl({_BASE}, "
    f"at::native::GeluType){_INNER}, std::array<char*, 2ul>)": "Gelu<BFloat16> · vectorized",
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
    f"at::native::direct_copy_kernel_cuda({_BASE}){_INNER}>({_BASE}, at::native::direct_copy_kernel_cuda({_BASE})"
    f"{_INNER} const&)::{{lambda(int)#1}}>(int, x)": "direct_copy<BFloat16> · elementwise",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)": (
        "add<BFloat16> · vectorized"
    ),
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<long>, "
    "std::array<char*, 2ul> >(int, at::native::CUDAFunctorOnSelf_add<long>, std::array<char*, 2ul>)": (
        "add<long> · vectorized"
    ),
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, "
    "c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)": (
        "Binary Mul<float> · vectorized"
    ),
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16, "
    "at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(c10::BFloat16*, c10::BFloat16 const*, int)": (
        "cunn_SoftMaxForward<8, BFloat16, …>"
    ),
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float)": (
        "vectorized_layer_norm_kernel<BFloat16, float>"
    ),
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, at::native::NormTwoOps<"
    "c10::BFloat16, float, c10::BFloat16>, unsigned int, c10::BFloat16, 4> >(x)": "NormTwoOps<BFloat16> · reduce",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
    "at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, "
    "unsigned int, float, 4> >(x)": "sum<float> · reduce",
    f"void cutlass::Kernel2<{_CUTLASS}>({_CUTLASS}::Params)": "s16816gemm_relu_bf16_64x64_64x6_tn_align8 · cutlass_80",
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int> > >(P)": (
        "GemmUniversal"
    ),
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, "
    "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<4, "
    "cute::tuple<cute::C<2>, cute::C<1>, cute::C<1> > >, cute::tuple<cute::C<128>, cute::C<256>, cute::C<64> >, "
    "cutlass::bfloat16_t> > >(P)": "GemmUniversal 128x256x64",
    _XMMA: "gemm_128x128x64_tn_n_1x1x1_segment_k_off · sm90_bf16bf16_bf16f32_f32",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_execute_split_k_kernel"
    "__5x_cublas": ("gemm_64x256x8_split_k_tn_n_stage3_1x4x1_ffma · sm80_f32f32_f32f32_f32"),
    "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4": "s1688gemm_128x128_16x5_nn_align4 · cutlass_80",
    "sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_warpsize2x2x1_g1": (
        "dgrad_implicit_gemm_128x128x16_nhwckrsc_nhwc_stage4_2x2x1_g1 · sm80_tf32f32_tf32f32_f32"
    ),
    "void at::native::vectorized_elementwise_kernel<(int)4, void at::native::<unnamed>::pow_tensor_scalar_kernel_impl"
    "<float, float>(at::TensorIteratorBase &, T2)::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>>"
    "(int, T2, T3)": "pow_tensor_scalar<float> · vectorized",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": (
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
    ),
    "void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16>(cublasLt::cublasSplitKParams<float>)": (
        "cublasLt::splitKreduce_kernel<32, 16, …>"
    ),
    "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>(P)": (
        "gemvx::kernel<int, int, …>"
    ),
    "triton_poi_fused_add_0": "triton_poi_fused_add_0",
}


@pytest.mark.parametrize(("name", "short"), _NAMES.items(), ids=range(len(_NAMES)))
def test_short_kernel_names_show_the_operation(name: str, short: str) -> None:
    assert short_kernel_name(name) == short


@given(st.sampled_from(sorted(_NAMES)), st.integers(1, 400))
def test_truncated_names_have_a_short_form(name: str, length: int) -> None:
    assert short_kernel_name(name[:length]) or name[:length].strip() in {"void", ""}


@given(st.text("ab<>(){}:, ->", max_size=40))
def test_short_names_are_at_most_one_mark_longer(text: str) -> None:
    assert len(short_kernel_name(text)) <= len(text) + 2


def test_equal_short_names_show_the_differing_arguments() -> None:
    sgemm = "void implicit_convolve_sgemm<float, float, {}, 1, false, true, true>(int, float const*)"
    one, other = (sgemm.format(tile) for tile in ("1024, 6, 7, 3, 3, 5", "128, 5, 5, 3, 3, 3"))
    found = short_kernel_names([one, other, one, "void softmax<float>(int)"])
    assert found == {
        one: "implicit_convolve_sgemm<float, float, …> · 1024, 6, 7, 5",
        other: "implicit_convolve_sgemm<float, float, …> · 128, 5, 5, 3",
        "void softmax<float>(int)": "softmax<float>",
    }
    # What tells two apart is no argument: both keep the short form.
    assert set(short_kernel_names(["void f<int>(int)", "void f<int>(float)"]).values()) == {"f<int>"}


def test_long_template_arguments_are_parsed_only_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    splitting = kernel_names._split

    def watched(text: str, separator: str) -> list[str]:
        read.append(len(text))
        return splitting(text, separator)

    monkeypatch.setattr(kernel_names, "_split", watched)
    name = f"void library::reduce<Shape<4>, {', '.join(f'Argument<{i}>' for i in range(20_000))}>(int*)"
    assert short_kernel_name(name) == "library::reduce<Shape, Argument, …>"
    assert max(read) <= kernel_names._READ
