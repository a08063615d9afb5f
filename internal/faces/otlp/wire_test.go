package otlp_test

import (
	"testing"
	"time"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"remit/internal/faces/otlp"
)

// FuzzAnswer: what the official types can read, we read the same; nothing is too odd.
func FuzzAnswer(f *testing.F) {
	answer, err := proto.Marshal(&coltrace.ExportTraceServiceResponse{PartialSuccess: &coltrace.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "too old"}})
	if err != nil {
		f.Fatal(err)
	}
	late, err := status.New(codes.Unavailable, "later").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)})
	if err != nil {
		f.Fatal(err)
	}
	refusal, err := proto.Marshal(late.Proto())
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{nil, answer, refusal, {0xff}, {10, 200}, {8, 1, 17, 1, 2, 3, 4, 5, 6, 7, 8, 29, 1, 2, 3, 4}, {11}} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := otlp.ReadPartial(body)
		var official coltrace.ExportTraceServiceResponse
		if proto.Unmarshal(body, &official) == nil && len(official.ProtoReflect().GetUnknown()) == 0 && len(official.GetPartialSuccess().ProtoReflect().GetUnknown()) == 0 {
			want := official.GetPartialSuccess()
			if err != nil || got.Rejected() != want.GetRejectedSpans() || got.Message() != want.GetErrorMessage() {
				t.Errorf("got %+v (%v), want %v", got, err, want)
			}
		}
		message, after, told := otlp.ReadStatus(body)
		if told && (after < 0 || after > 24*time.Hour) {
			t.Errorf("after %s", after)
		}
		var refused rpcstatus.Status
		if proto.Unmarshal(body, &refused) == nil && len(refused.ProtoReflect().GetUnknown()) == 0 && message != refused.GetMessage() {
			t.Errorf("got %q, want %q", message, refused.GetMessage())
		}
	})
}
