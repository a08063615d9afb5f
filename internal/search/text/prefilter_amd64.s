#include "textflag.h"

// func scanAVX2(n *nibbles, data *byte, count int) (at int, marks uint32)
//
// The low nibble of a byte selects an entry of one table, the high nibble one of another. The bits
// that are set in both are the buckets that match the byte. A place is marked if three consecutive
// bytes have a common bucket.
TEXT ·scanAVX2(SB), NOSPLIT, $0-36
	MOVQ n+0(FP), AX
	MOVQ data+8(FP), SI
	MOVQ count+16(FP), CX
	VMOVDQU 0(AX), Y0
	VMOVDQU 32(AX), Y1
	VMOVDQU 64(AX), Y2
	VMOVDQU 96(AX), Y3
	VMOVDQU 128(AX), Y4
	VMOVDQU 160(AX), Y5
	MOVL $15, DX
	VMOVD DX, X6
	VPBROADCASTB X6, Y6
	VPXOR Y15, Y15, Y15
	XORQ DX, DX

loop:
	PREFETCHT0 2048(SI)(DX*1)
	VMOVDQU (SI)(DX*1), Y7
	VMOVDQU 1(SI)(DX*1), Y8
	VMOVDQU 2(SI)(DX*1), Y9

	VPSRLW $4, Y7, Y10
	VPAND Y6, Y7, Y7
	VPAND Y6, Y10, Y10
	VPSHUFB Y7, Y0, Y7
	VPSHUFB Y10, Y1, Y10
	VPAND Y7, Y10, Y7

	VPSRLW $4, Y8, Y11
	VPAND Y6, Y8, Y8
	VPAND Y6, Y11, Y11
	VPSHUFB Y8, Y2, Y8
	VPSHUFB Y11, Y3, Y11
	VPAND Y8, Y11, Y8

	VPSRLW $4, Y9, Y12
	VPAND Y6, Y9, Y9
	VPAND Y6, Y12, Y12
	VPSHUFB Y9, Y4, Y9
	VPSHUFB Y12, Y5, Y12
	VPAND Y9, Y12, Y9

	VPAND Y7, Y8, Y7
	VPAND Y7, Y9, Y7
	VPTEST Y7, Y7
	JNZ found
	ADDQ $32, DX
	CMPQ DX, CX
	JB loop

	VZEROUPPER
	MOVQ DX, at+24(FP)
	MOVL $0, marks+32(FP)
	RET

found:
	VPCMPEQB Y7, Y15, Y7
	VPMOVMSKB Y7, AX
	NOTL AX
	VZEROUPPER
	MOVQ DX, at+24(FP)
	MOVL AX, marks+32(FP)
	RET

// func fillBitmapAVX2(probes *probe, count int, data *byte, words int, places, ends *[bitmapWords]uint64)
//
// For each word of 64 bytes, it compares all probes, each one byte further in the text.
TEXT ·fillBitmapAVX2(SB), NOSPLIT, $0-48
	MOVQ probes+0(FP), AX
	MOVQ count+8(FP), BX
	MOVQ data+16(FP), SI
	MOVQ words+24(FP), CX
	MOVQ places+32(FP), DI
	MOVQ ends+40(FP), R8
	SHLQ $6, BX
	ADDQ AX, BX
	MOVL $10, DX
	VMOVD DX, X6
	VPBROADCASTB X6, Y6

word:
	PREFETCHT0 2048(SI)
	VPCMPEQB (SI), Y6, Y2
	VPCMPEQB 32(SI), Y6, Y3
	VPMOVMSKB Y2, R10
	VPMOVMSKB Y3, R11
	SHLQ $32, R11
	ORQ R11, R10
	MOVQ R10, (R8)
	VPCMPEQB Y0, Y0, Y0
	VMOVDQA Y0, Y1
	MOVQ SI, R9
	MOVQ AX, DX

byte:
	VMOVDQU (DX), Y4
	VMOVDQU 32(DX), Y5
	VPOR (R9), Y4, Y2
	VPOR 32(R9), Y4, Y3
	VPCMPEQB Y2, Y5, Y2
	VPCMPEQB Y3, Y5, Y3
	VPAND Y2, Y0, Y0
	VPAND Y3, Y1, Y1
	INCQ R9
	ADDQ $64, DX
	CMPQ DX, BX
	JB byte

	VPMOVMSKB Y0, R10
	VPMOVMSKB Y1, R11
	SHLQ $32, R11
	ORQ R11, R10
	MOVQ R10, (DI)
	ADDQ $64, SI
	ADDQ $8, DI
	ADDQ $8, R8
	DECQ CX
	JNZ word

	VZEROUPPER
	RET
