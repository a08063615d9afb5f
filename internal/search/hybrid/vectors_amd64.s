#include "textflag.h"

// func multiplyAVX2(query *int16, rows *int8, width, count int, out *int32)
//
// It processes four rows at a time, which share the loads of the query. The remaining rows follow
// one by one.
TEXT ·multiplyAVX2(SB), NOSPLIT, $0-40
	MOVQ query+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ width+16(FP), CX
	MOVQ count+24(FP), BX
	MOVQ out+32(FP), R8
	LEAQ (CX)(CX*2), R9

four:
	CMPQ BX, $4
	JB one
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	MOVQ DI, R10
	MOVQ SI, R11
	LEAQ (SI)(CX*1), R12

step:
	VMOVDQU (R10), Y4
	PREFETCHT0 4096(R11)
	VPMOVSXBW (R11), Y5
	VPMOVSXBW (R11)(CX*1), Y6
	VPMOVSXBW (R11)(CX*2), Y7
	VPMOVSXBW (R11)(R9*1), Y8
	VPMADDWD Y4, Y5, Y5
	VPMADDWD Y4, Y6, Y6
	VPMADDWD Y4, Y7, Y7
	VPMADDWD Y4, Y8, Y8
	VPADDD Y5, Y0, Y0
	VPADDD Y6, Y1, Y1
	VPADDD Y7, Y2, Y2
	VPADDD Y8, Y3, Y3
	ADDQ $32, R10
	ADDQ $16, R11
	CMPQ R11, R12
	JB step

	VPHADDD Y1, Y0, Y0
	VPHADDD Y3, Y2, Y2
	VPHADDD Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VMOVDQU X0, (R8)
	LEAQ (SI)(CX*4), SI
	ADDQ $16, R8
	SUBQ $4, BX
	JMP four

one:
	TESTQ BX, BX
	JZ done
	VPXOR Y0, Y0, Y0
	MOVQ DI, R10
	LEAQ (SI)(CX*1), R12

single:
	VPMOVSXBW (SI), Y5
	VPMADDWD (R10), Y5, Y5
	VPADDD Y5, Y0, Y0
	ADDQ $32, R10
	ADDQ $16, SI
	CMPQ SI, R12
	JB single

	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VPHADDD X0, X0, X0
	VPHADDD X0, X0, X0
	VMOVD X0, (R8)
	ADDQ $4, R8
	DECQ BX
	JMP one

done:
	VZEROUPPER
	RET
