package replay

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// breakage is a client that does one thing otherwise than the recorded one.
type breakage struct {
	name string
	send func(frame string) []string // what goes out in the place of one frame
	want func(r *dialect.Reading) []string
}

func another(frame string) string {
	at := strings.LastIndexByte(frame, '}')
	if at < 0 {
		return frame + " changed"
	}
	return frame[:at] + `,"changed":true` + frame[at:]
}

var breakages = []breakage{
	{"changed", func(f string) []string { return []string{another(f)} }, func(r *dialect.Reading) []string {
		if r.Role == dialect.Request {
			return []string{Refused}
		}
		return []string{Different}
	}},
	{"left out", func(string) []string { return nil }, func(*dialect.Reading) []string { return []string{Unsent, Stalled} }},
	{"sent twice", func(f string) []string { return []string{f, f} }, func(r *dialect.Reading) []string {
		if r.Role == dialect.Request {
			return []string{Refused}
		}
		return []string{Extra}
	}},
	{"sent before a frame nobody knows", func(f string) []string {
		return []string{`{"jsonrpc":"2.0","id":"never","method":"never/recorded","type":"never_recorded"}`, f}
	},
		func(*dialect.Reading) []string { return []string{Refused, Extra} }},
}

// Whatever one frame of a real conversation a client changes, leaves out or
// sends twice, the replay comes to an end, fails, and its first divergence says
// so, by the frame where that can be known.
func TestBrokenClients(t *testing.T) {
	files, err := filepath.Glob("../samples/*.agentrec")
	if err != nil || len(files) < 3 {
		t.Fatalf("samples: %q, %v", files, err)
	}
	for _, file := range files {
		name, lines := sampleLines(t, file)
		d, err := dialect.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range breakages {
			t.Run(filepath.Base(file)+"/"+b.name, func(t *testing.T) {
				for n, line := range lines {
					frame, ok := strings.CutPrefix(line, "in ")
					if !ok {
						continue
					}
					r := d.Read(store.In, []byte(frame))
					m := broken(t, name, lines, n, b)
					if len(m.v.diverge) == 0 {
						t.Errorf("frame %d (%s): no divergence", n+1, r.Label)
						continue
					}
					first := m.v.diverge[0]
					if !slices.Contains(b.want(&r), first.Kind) {
						t.Errorf("frame %d (%s): the first divergence is %q (%s), want %v", n+1, r.Label, first.Kind, first.Message, b.want(&r))
					}
					if seq := max(first.Seq, first.Nearest); (b.name == "changed" || b.name == "left out") && seq != int64(n+1) && !m.twin(n+1, seq) {
						t.Errorf("frame %d (%s): the first divergence names frame %d: %s", n+1, r.Label, seq, first.Message)
					}
				}
			})
		}
	}
}

// twin reports whether two in frames say the same, so that one may be taken for
// the other.
func (m *memory) twin(n int, seq int64) bool {
	a, b := m.d.Read(store.In, m.raw[n]), m.d.Read(store.In, m.raw[seq])
	return a.Label == b.Label
}

// broken plays the recorded client, but for frame n. A client that waits for
// what does not come gives up when the replay reports the stall.
func broken(t *testing.T, name string, lines []string, n int, b breakage) *memory {
	m := newMemory(t, name, matching{}, lines)
	m.lines(m.e.start())
	for i, line := range lines {
		frame, ok := strings.CutPrefix(line, "in ")
		if !ok {
			if strings.HasPrefix(line, "out ") && !m.e.done[i+1] {
				m.e.stall()
				break
			}
			continue
		}
		send := []string{frame}
		if i == n {
			send = b.send(frame)
		}
		for _, f := range send {
			m.lines(m.e.frame([]byte(f)))
		}
	}
	m.e.eof()
	m.v.close(m.e, false)
	return m
}
