package llm

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// A request that failed is followed by its next try, also while an equal one is
// in flight: SDKs count tries.
func TestRetries(t *testing.T) {
	limited := exchange(1, chat("user", "hi"), `{"error":{}}`)
	limited.Status = 429
	limited.Answer = []store.Field{{Name: "Retry-After", Value: "20"}}
	limited.Header = []store.Field{{Name: "x-stainless-retry-count", Value: "0"}}
	other := exchange(2, chat("user", "hi"), "other")
	other.Header = limited.Header
	again := exchange(3, chat("user", "hi"), "again")
	again.Header = []store.Field{{Name: "X-Stainless-Retry-Count", Value: "1"}}
	_, addr := serveMock(t, MockOptions{}, limited, other, again)
	a := ask(t, addr, "POST", chatPath, chat("user", "hi"), "X-Stainless-Retry-Count: 0")
	if a.status != 429 || a.header.Get("Retry-After-Ms") != "1" || a.header.Get("Retry-After") != "0" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if a := ask(t, addr, "POST", chatPath, chat("user", "hi"), "X-Stainless-Retry-Count: 1"); a.body() != "again" {
		t.Errorf("the second try got %q", a.body())
	}
	if a := ask(t, addr, "POST", chatPath, chat("user", "hi"), "X-Stainless-Retry-Count: 0"); a.body() != "other" {
		t.Errorf("the other request got %q", a.body())
	}
}

// SDKs wait before they try again also where the answer does not ask for it.
func TestFullSpeedAsksForNoWait(t *testing.T) {
	var list []store.Exchange
	for i, status := range []int{529, 400, 503} {
		x := exchange(int64(i+1), chat("user", strconv.Itoa(status)), "{}")
		x.Status = status
		list = append(list, x)
	}
	list[2].Answer = []store.Field{{Name: "X-Should-Retry", Value: "false"}}
	_, addr := serveMock(t, MockOptions{}, list...)
	for i, want := range []string{"1", "", ""} {
		if a := ask(t, addr, "POST", chatPath, string(list[i].Body)); a.status != list[i].Status || a.header.Get("Retry-After-Ms") != want {
			t.Errorf("%d: %v", a.status, a.header)
		}
	}
}

// The wait that an answer asks for is shortened as pauses are.
func TestPaceOfRetries(t *testing.T) {
	x := exchange(1, chat("user", "hi"))
	x.Status, x.Answer = 429, []store.Field{{Name: "Retry-After", Value: "20"}}
	for _, c := range []struct {
		pace          float64
		limit         time.Duration
		after, inMsec string
	}{{1, 0, "20", ""}, {10, 0, "2", "2000"}, {0, 0, "0", "1"}, {1, time.Millisecond, "0", "1"}, {1.01, 3 * time.Second, "3", "3000"}} {
		_, addr := serveMock(t, MockOptions{Pace: c.pace, PaceCap: c.limit}, x)
		if a := ask(t, addr, "POST", chatPath, string(x.Body)); a.header.Get("Retry-After") != c.after || a.header.Get("Retry-After-Ms") != c.inMsec {
			t.Errorf("pace %v, cap %v: %v", c.pace, c.limit, a.header)
		}
	}
}

// The fast pace keeps a little of each gap, and in all of an answer not much.
func TestFastPace(t *testing.T) {
	p := &pacer{o: &MockOptions{}, left: fastSum}
	for _, gap := range []time.Duration{0, -time.Second, 100 * time.Microsecond} {
		if got := p.shorten(gap); got != 0 {
			t.Errorf("%v became %v", gap, got)
		}
	}
	if got := p.shorten(300 * time.Microsecond); got != 300*time.Microsecond {
		t.Errorf("a short gap became %v", got)
	}
	var sum time.Duration
	for n := range 1000 {
		got := p.shorten(20 * time.Millisecond)
		if sum += got; got > fastGap || n < 40 && got != fastGap {
			t.Fatalf("gap %d became %v", n, got)
		}
	}
	if sum > fastSum || sum < fastSum-2*fastGap {
		t.Errorf("all of them became %v", sum)
	}
}

// What ended badly ends badly again.
func TestEnds(t *testing.T) {
	cut := exchange(1, chat("user", "cut"), "data: 1\n\n", "data: 2\n\n")
	cut.End = store.CutShort
	counted := exchange(2, chat("user", "counted"), `{"a":`)
	counted.End, counted.Answer = store.CutShort, []store.Field{{Name: "Content-Length", Value: "400"}}
	failed := exchange(3, chat("user", "failed"))
	failed.Status, failed.End, failed.Error = 0, store.Failed, "dial tcp: connection refused"
	broken := exchange(4, chat("user", "broken"))
	broken.Status, broken.End, broken.Error = 0, store.Failed, "EOF"
	_, addr := serveMock(t, MockOptions{}, cut, counted, failed, broken)
	if a := ask(t, addr, "POST", chatPath, string(cut.Body)); a.status != 200 || !slices.Equal(a.chunks, []string{"data: 1\n\n", "data: 2\n\n"}) || a.err == nil {
		t.Errorf("cut: %+v", a)
	}
	if a := ask(t, addr, "POST", chatPath, string(counted.Body)); a.body() != `{"a":` || a.err == nil {
		t.Errorf("cut with a length: %+v", a)
	}
	if a := ask(t, addr, "POST", chatPath, string(failed.Body)); a.status != 502 || !strings.Contains(a.body(), "connection refused") {
		t.Errorf("failed: %+v", a)
	}
	if a := ask(t, addr, "POST", chatPath, string(broken.Body)); a.status != 0 || a.err == nil {
		t.Errorf("broken: %+v", a)
	}
}

// An answer that the agent had cancelled hangs behind its prefix until the agent
// leaves.
func TestCancelled(t *testing.T) {
	x := exchange(1, chat("user", "stop"), "data: 1\n\n")
	x.End = store.Cancelled
	silent := exchange(2, chat("user", "silent"))
	silent.End, silent.Status = store.Cancelled, 0
	m, addr := serveMock(t, MockOptions{}, x, silent)
	for _, one := range []store.Exchange{x, silent} {
		ctx, cancel := context.WithCancel(context.Background())
		req, err := http.NewRequestWithContext(ctx, "POST", "http://"+addr+chatPath, bytes.NewReader(one.Body))
		if err != nil {
			t.Fatal(err)
		}
		if one.Status == 0 {
			time.AfterFunc(10*time.Millisecond, cancel)
			if _, err := http.DefaultClient.Do(req); !errors.Is(err, context.Canceled) {
				t.Errorf("silent: %v", err)
			}
			cancel()
			continue
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		if n, err := resp.Body.Read(b); string(b[:n]) != "data: 1\n\n" || err != nil {
			t.Errorf("%q, %v", b[:n], err)
		}
		cancel()
		if _, err := resp.Body.Read(b); !errors.Is(err, context.Canceled) {
			t.Errorf("after the cancel: %v", err)
		}
		resp.Body.Close()
	}
	if r := m.Report(); r.Failed() != 0 || len(r.Left) != 0 {
		t.Errorf("%+v", r)
	}
	bounded, addr := serveMock(t, MockOptions{hang: time.Millisecond}, x)
	if a := ask(t, addr, "POST", chatPath, string(x.Body)); a.body() != "data: 1\n\n" || a.err == nil {
		t.Errorf("bounded: %+v", a)
	}
	if r := bounded.Report(); r.Failed() != 0 {
		t.Errorf("%+v", r)
	}
}
