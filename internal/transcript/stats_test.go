package transcript

import (
	"slices"
	"testing"
	"time"
)

func TestLatency(t *testing.T) {
	var list []took
	for i := range 100 {
		list = append(list, took{time.Duration(100-i) * time.Millisecond, int64(i)})
	}
	want := Latency{Count: 100, P50: 50 * time.Millisecond, P90: 90 * time.Millisecond, P99: 99 * time.Millisecond, Max: 100 * time.Millisecond, Slowest: 0}
	if got := latency(list); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := latency([]took{{7, 3}}); got != (Latency{1, 7, 7, 7, 7, 3}) {
		t.Errorf("of one: %+v", got)
	}
	if got := latency(nil); got != (Latency{}) {
		t.Errorf("of none: %+v", got)
	}
}

func TestStats(t *testing.T) {
	tr := build(t, "", wire(t, "testdata/wire/acp__ts24-client__ts24-rich-agent.wire.ndjson"))
	s, err := tr.Stats(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Frames != 100 || s.Frames != s.Streams[0].Frames+s.Streams[1].Frames || s.Ended != 8 || s.Bad != 1 || s.Open != 0 || s.Failed != 5 || s.Usage.Cost != 0.01 {
		t.Errorf("%+v", s)
	}
	find := func(name string) LabelStats {
		i := slices.IndexFunc(s.Labels, func(l LabelStats) bool { return l.Label == name })
		if i < 0 {
			t.Fatalf("no label %s", name)
		}
		return s.Labels[i]
	}
	p := find("session/prompt")
	if p.Frames != 8 || p.Stream != "in" || p.Latency.Count != 8 || p.Latency.P50 != 41*time.Millisecond || p.Latency.Max != 115*time.Millisecond || p.Latency.Slowest != 69 {
		t.Errorf("%+v", p)
	}
	if r := find("fs/read_text_file"); r.Stream != "out" || r.Latency.Count != 4 || r.Latency.P90 != 41*time.Millisecond {
		t.Errorf("%+v", r)
	}
	if len(s.Tools) != 4 || s.Tools[0].Calls != 1 {
		t.Errorf("%+v", s.Tools)
	}
	f, err := ParseFilter("turn = 1 and out")
	if err != nil {
		t.Fatal(err)
	}
	if s, err = tr.Stats(t.Context(), f); err != nil || s.Frames != 15 || s.Ended != 0 || len(s.Tools) != 2 {
		t.Errorf("%+v %v", s, err)
	}
}

// TestChoose agrees with Match on every frame, whatever the filter needs.
func TestChoose(t *testing.T) {
	tr := phiTranscript(t)
	for _, expr := range []string{"", "run", "out", `text:"Oslo"`, `in and text:"Oslo"`, `#3..20 .type = event`, `not "e"`, "err or .n > 5"} {
		f, err := ParseFilter(expr)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for seq, err := range tr.Choose(t.Context(), f) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, seq)
		}
		if want := seqs(t, tr, expr); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", expr, got, want)
		}
	}
	for range tr.Choose(t.Context(), nil) {
		break
	}
}
