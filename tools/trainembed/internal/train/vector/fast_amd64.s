#include "textflag.h"

// Products and sums are separate instructions, as in plain.go, whose steps these follow.

// func addFast(dst, src []float32, weight float32)
TEXT ·addFast(SB), NOSPLIT, $0-52
	MOVQ         dst_base+0(FP), DI
	MOVQ         dst_len+8(FP), CX
	MOVQ         src_base+24(FP), SI
	VBROADCASTSS weight+48(FP), Y0
	SHRQ         $3, CX
	JZ           addDone

addNext:
	VMULPS  (SI), Y0, Y1
	VADDPS  (DI), Y1, Y1
	VMOVUPS Y1, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	DECQ    CX
	JNZ     addNext

addDone:
	VZEROUPPER
	RET

DATA log2e<>+0(SB)/4, $0x3fb8aa3b
GLOBL log2e<>(SB), RODATA|NOPTR, $4
DATA ln2<>+0(SB)/4, $0x3f318000
GLOBL ln2<>(SB), RODATA|NOPTR, $4
DATA rest<>+0(SB)/4, $0xb95e8083
GLOBL rest<>(SB), RODATA|NOPTR, $4
DATA one<>+0(SB)/4, $0x3f800000
GLOBL one<>(SB), RODATA|NOPTR, $4
DATA power2<>+0(SB)/4, $0x3f000000
GLOBL power2<>(SB), RODATA|NOPTR, $4
DATA power3<>+0(SB)/4, $0x3e2aaaab
GLOBL power3<>(SB), RODATA|NOPTR, $4
DATA power4<>+0(SB)/4, $0x3d2aaaab
GLOBL power4<>(SB), RODATA|NOPTR, $4
DATA power5<>+0(SB)/4, $0x3c088889
GLOBL power5<>(SB), RODATA|NOPTR, $4
DATA power6<>+0(SB)/4, $0x3ab60b61
GLOBL power6<>(SB), RODATA|NOPTR, $4
DATA bias<>+0(SB)/4, $127
GLOBL bias<>(SB), RODATA|NOPTR, $4

// func expFast(row []float32, scale, shift float32, sums *[8]float32)
TEXT ·expFast(SB), NOSPLIT, $0-40
	MOVQ         row_base+0(FP), DI
	MOVQ         row_len+8(FP), CX
	VBROADCASTSS scale+24(FP), Y0
	VBROADCASTSS shift+28(FP), Y1
	MOVQ         sums+32(FP), DX
	VMOVUPS      (DX), Y2
	VBROADCASTSS log2e<>(SB), Y3
	VBROADCASTSS ln2<>(SB), Y4
	VBROADCASTSS rest<>(SB), Y5
	VBROADCASTSS one<>(SB), Y6
	VBROADCASTSS power2<>(SB), Y7
	VBROADCASTSS power3<>(SB), Y8
	VBROADCASTSS power4<>(SB), Y9
	VBROADCASTSS power5<>(SB), Y10
	VBROADCASTSS power6<>(SB), Y11
	VPBROADCASTD bias<>(SB), Y12
	SHRQ         $3, CX
	JZ           expDone

expNext:
	VMULPS    (DI), Y0, Y13
	VSUBPS    Y1, Y13, Y13     // x
	VMULPS    Y3, Y13, Y14
	VROUNDPS  $0, Y14, Y14     // n
	VMULPS    Y4, Y14, Y15
	VSUBPS    Y15, Y13, Y13
	VMULPS    Y5, Y14, Y15
	VSUBPS    Y15, Y13, Y13    // r
	VMULPS    Y11, Y13, Y15
	VADDPS    Y10, Y15, Y15
	VMULPS    Y13, Y15, Y15
	VADDPS    Y9, Y15, Y15
	VMULPS    Y13, Y15, Y15
	VADDPS    Y8, Y15, Y15
	VMULPS    Y13, Y15, Y15
	VADDPS    Y7, Y15, Y15
	VMULPS    Y13, Y15, Y15
	VADDPS    Y6, Y15, Y15
	VMULPS    Y13, Y15, Y15
	VADDPS    Y6, Y15, Y15     // e^r
	VCVTPS2DQ Y14, Y14
	VPADDD    Y12, Y14, Y14
	VPSLLD    $23, Y14, Y14    // 2^n
	VMULPS    Y14, Y15, Y15
	VMOVUPS   Y15, (DI)
	VADDPS    Y15, Y2, Y2
	ADDQ      $32, DI
	DECQ      CX
	JNZ       expNext

expDone:
	VMOVUPS Y2, (DX)
	VZEROUPPER
	RET

// func blendFast(row, others []float32, own float32)
TEXT ·blendFast(SB), NOSPLIT, $0-52
	MOVQ         row_base+0(FP), DI
	MOVQ         row_len+8(FP), CX
	MOVQ         others_base+24(FP), SI
	VBROADCASTSS own+48(FP), Y0
	SHRQ         $3, CX
	JZ           blendDone

blendNext:
	VADDPS  (SI), Y0, Y1
	VMULPS  (DI), Y1, Y1
	VMOVUPS Y1, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	DECQ    CX
	JNZ     blendNext

blendDone:
	VZEROUPPER
	RET

// func adamFast(p *Adam, x, m, v, gradient []float32)
TEXT ·adamFast(SB), NOSPLIT, $0-104
	MOVQ         p+0(FP), DX
	MOVQ         x_base+8(FP), DI
	MOVQ         x_len+16(FP), CX
	MOVQ         m_base+32(FP), R8
	MOVQ         v_base+56(FP), R9
	MOVQ         gradient_base+80(FP), SI
	VBROADCASTSS 0(DX), Y0
	VBROADCASTSS 4(DX), Y1
	VBROADCASTSS 8(DX), Y2
	VBROADCASTSS 12(DX), Y3
	VBROADCASTSS 16(DX), Y4
	VBROADCASTSS 20(DX), Y5
	VBROADCASTSS 24(DX), Y6
	SHRQ         $3, CX
	JZ           adamDone

adamNext:
	VMOVUPS (SI), Y7
	VMULPS  (R8), Y0, Y8
	VMULPS  Y7, Y1, Y9
	VADDPS  Y9, Y8, Y8
	VMOVUPS Y8, (R8)          // m
	VMULPS  (R9), Y2, Y10
	VMULPS  Y7, Y7, Y7
	VMULPS  Y7, Y3, Y7
	VADDPS  Y7, Y10, Y10
	VMOVUPS Y10, (R9)         // v
	VMULPS  Y5, Y10, Y10
	VSQRTPS Y10, Y10
	VADDPS  Y6, Y10, Y10
	VMULPS  Y4, Y8, Y8
	VDIVPS  Y10, Y8, Y8
	VMOVUPS (DI), Y9
	VSUBPS  Y8, Y9, Y9
	VMOVUPS Y9, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	ADDQ    $32, R8
	ADDQ    $32, R9
	DECQ    CX
	JNZ     adamNext

adamDone:
	VZEROUPPER
	RET

// ROW adds the products of one number of the slab and 16 of the panel to one row.
#define ROW(at, low, high) \
	VBROADCASTSS at(SI), Y10 \
	VMULPS       Y8, Y10, Y11 \
	VMULPS       Y9, Y10, Y12 \
	VADDPS       Y11, low, low \
	VADDPS       Y12, high, high

// func tileFast(depth int, slab, panel, product *float32, stride int)
TEXT ·tileFast(SB), NOSPLIT, $0-40
	MOVQ    depth+0(FP), CX
	MOVQ    slab+8(FP), SI
	MOVQ    panel+16(FP), DI
	MOVQ    product+24(FP), R8
	MOVQ    stride+32(FP), DX
	SHLQ    $2, DX
	LEAQ    (R8)(DX*1), R9
	LEAQ    (R9)(DX*1), R10
	LEAQ    (R10)(DX*1), R11
	VMOVUPS (R8), Y0
	VMOVUPS 32(R8), Y1
	VMOVUPS (R9), Y2
	VMOVUPS 32(R9), Y3
	VMOVUPS (R10), Y4
	VMOVUPS 32(R10), Y5
	VMOVUPS (R11), Y6
	VMOVUPS 32(R11), Y7

tileNext:
	VMOVUPS (DI), Y8
	VMOVUPS 32(DI), Y9
	ROW(0, Y0, Y1)
	ROW(4, Y2, Y3)
	ROW(8, Y4, Y5)
	ROW(12, Y6, Y7)
	ADDQ    $16, SI
	ADDQ    $64, DI
	DECQ    CX
	JNZ     tileNext

	VMOVUPS Y0, (R8)
	VMOVUPS Y1, 32(R8)
	VMOVUPS Y2, (R9)
	VMOVUPS Y3, 32(R9)
	VMOVUPS Y4, (R10)
	VMOVUPS Y5, 32(R10)
	VMOVUPS Y6, (R11)
	VMOVUPS Y7, 32(R11)
	VZEROUPPER
	RET
