package replay

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// memory is a recording held in memory and the engine over it: a replay without
// processes, pipes or clocks.
type memory struct {
	t    testing.TB
	d    *dialect.Dialect
	s    *script
	e    *engine
	v    *verdict
	raw  [][]byte // by item
	sent *view
}

func newMemory(t testing.TB, dialectName string, o matching, lines []string, free ...string) *memory {
	t.Helper()
	d, err := dialect.Load(dialectName)
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{t: t, d: d, v: &verdict{}, raw: [][]byte{nil}}
	b := newBuilder(d, free, int64(len(lines)))
	frames, events, state := parseLines(t, lines)
	for n, f := range frames {
		for len(events) > 0 && events[0].After == int64(n) {
			m.event(b, events[0])
			events = events[1:]
		}
		m.raw = append(m.raw, f.Raw)
		b.frame(f)
	}
	for _, e := range events {
		m.event(b, e)
	}
	m.s = b.finish(state)
	if o.least == None {
		o.least = Content
	}
	m.e = newEngine(m.s, o, m.v, func(i int32) []byte { return m.raw[i] })
	m.sent = newView(&m.e.log)
	return m
}

func (m *memory) event(b *builder, e store.Event) {
	before := len(b.s.items)
	if b.event(e); len(b.s.items) > before {
		m.raw = append(m.raw, nil)
	}
}

// parseLines reads the lines of recordLines.
func parseLines(t testing.TB, lines []string) (frames []store.Frame, events []store.Event, state store.State) {
	t.Helper()
	state = store.Closed
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		after := int64(len(frames))
		switch word {
		case "in", "out", "err":
			stream := map[string]store.Stream{"in": store.In, "out": store.Out, "err": store.Err}[word]
			frames = append(frames, store.Frame{Seq: after + 1, Stream: stream, Raw: []byte(rest), Size: int64(len(rest)), Term: store.LF})
		case "event":
			e := store.Event{After: after, Kind: store.EventSignal, Signal: rest}
			if rest == "eof" {
				e = store.Event{After: after, Kind: store.EventEOF, Stream: store.In}
			}
			events = append(events, e)
		case "exit":
			events = append(events, store.Event{After: after, Kind: store.EventExit, Exit: &store.Exit{Code: len(rest) - 1}})
		case "cut":
			state = store.Cut
		default:
			t.Fatalf("no such line: %q", line)
		}
	}
	return frames, events, state
}

// lines renders what the engine has released.
func (m *memory) lines(out []outgoing) []string {
	var list []string
	for _, o := range out {
		if o.other != nil {
			list = append(list, strings.TrimSuffix(string(o.other.raw), "\n"))
			continue
		}
		m.sent.advance(int(o.epoch))
		list = append(list, string(m.s.render(m.sent, o.item, m.raw[o.item])))
	}
	return list
}

// kinds lists what was reported: kinds of divergences with their recorded seq,
// then those of notes in brackets.
func (m *memory) kinds() string {
	var out []string
	name := func(n Entry) string {
		seq := n.Seq
		if seq == 0 {
			seq = n.Nearest
		}
		return n.Kind + at(seq)
	}
	for _, n := range m.v.diverge {
		out = append(out, name(n))
	}
	for _, n := range m.v.notes {
		out = append(out, "["+name(n)+"]")
	}
	return strings.ReplaceAll(strings.Join(out, ", "), " (frame ", " (")
}

// TestCases plays testdata/cases/*.txt. A file names a dialect, holds a
// recording (in, out, err, event, exit, cut) and one or more live clients:
//
//	live NAME [free LABEL] [match LEVEL] [label RULE]
//	> a frame the client sends, or: > eof, > TERM, > stall
//	< a frame it gets for it; all of them must be given
//	= what is reported in the end, "pass" for nothing
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, recording, lives := parseCase(t, string(b))
			for _, live := range lives {
				t.Run(live.name, func(t *testing.T) { live.play(t, name, recording) })
			}
		})
	}
}

type liveCase struct {
	name  string
	o     matching
	free  []string
	steps []string
}

func parseCase(t *testing.T, text string) (name string, recording []string, lives []liveCase) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "dialect":
			name = rest
		case "live":
			l := liveCase{}
			var rules []LabelRule
			words := strings.Split(rest, " ")
			for i := 1; i+1 < len(words); i++ {
				switch words[i] {
				case "free":
					l.free = append(l.free, words[i+1])
				case "label":
					r, err := ParseLabelRule(words[i+1])
					if err != nil {
						t.Fatal(err)
					}
					rules = append(rules, r)
				case "match":
					l.o.least = levelNames[words[i+1]]
				case "lookup":
					l.o.lookup = words[i+1]
				case "order":
					l.o.recorded = words[i+1] == "recorded"
				}
			}
			l.name, l.o.labels = words[0], byLabel(rules)
			lives = append(lives, l)
		case ">", "<", "=":
			if len(lives) == 0 {
				t.Fatalf("%q stands before the first live client", line)
			}
			lives[len(lives)-1].steps = append(lives[len(lives)-1].steps, line)
		default:
			recording = append(recording, line)
		}
	}
	if len(lives) == 0 {
		t.Fatal("no live client")
	}
	return name, recording, lives
}

func (l liveCase) play(t *testing.T, dialectName string, recording []string) {
	m := newMemory(t, dialectName, l.o, recording, l.free...)
	m.lawOne()
	out := m.lines(m.e.start())
	judged := false
	for _, step := range l.steps {
		word, rest, _ := strings.Cut(step, " ")
		if word == "<" {
			if len(out) == 0 {
				t.Fatalf("nothing was sent, want\n  %s\nreported: %s", rest, m.kinds())
			}
			if out[0] != rest {
				t.Fatalf("sent %s\nwant %s", out[0], rest)
			}
			out = out[1:]
			continue
		}
		if len(out) > 0 {
			t.Fatalf("before %q was sent too: %s", step, strings.Join(out, "\n  "))
		}
		if word == "=" {
			judged = true
			m.v.close(m.e, false)
			if rest == "pass" {
				rest = ""
			}
			if got := m.kinds(); got != rest {
				t.Fatalf("reported %q, want %q", got, rest)
			}
			continue
		}
		switch rest {
		case "eof":
			out = m.lines(m.e.eof())
		case "TERM":
			out = m.lines(m.e.signal("TERM"))
		case "stall":
			more, held := m.e.stall()
			if !held {
				t.Fatal("no stall: nothing is held back")
			}
			out = m.lines(more)
		default:
			out = m.lines(m.e.frame([]byte(rest)))
		}
	}
	if !judged {
		t.Fatal("the case has no verdict")
	}
}

// Law 1: every condition points to a lower item.
func (m *memory) lawOne() {
	m.t.Helper()
	for i := range m.s.items {
		it := &m.s.items[i]
		if it.stream != store.Out {
			continue
		}
		lower := []int32{it.prev, it.need}
		lower = append(lower, m.s.more[int32(i)]...)
		lower = append(lower, m.s.shared[int32(i)]...)
		l := &m.s.lanes[it.lane]
		lower = append(lower, l.resps[it.respLo:it.respHi]...)
		gates := l.gates.items
		switch {
		case it.flags&fAll != 0:
			gates = m.s.all.items
		case it.flags&fLane0 != 0:
			gates = m.s.lanes[0].gates.items
		}
		lower = append(lower, gates[it.gateLo:it.gateHi]...)
		if top := slices.Max(lower); top >= int32(i) {
			m.t.Fatalf("item %d waits for item %d", i, top)
		}
	}
}
