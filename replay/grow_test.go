package replay

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// newGrown is newMemory with a script that is made while it is played, step frames
// at a time.
func newGrown(t testing.TB, whole *memory, lines []string, step int64) *memory {
	t.Helper()
	frames, events, state := parseLines(t, lines)
	m := &memory{t: t, d: whole.d, v: &verdict{}, raw: whole.raw}
	b := newBuilder(m.d, nil, 0)
	b.s.cut = state != store.Closed
	g := newGrowth(b, int64(len(frames)), events, func(from, to int64) iter.Seq2[store.Frame, error] {
		return func(yield func(store.Frame, error) bool) {
			for _, f := range frames {
				if f.Seq >= from && (to == 0 || f.Seq <= to) && !yield(f, nil) {
					return
				}
			}
		}
	})
	g.step = step
	m.s = b.s
	m.e = newEngine(m.s, matching{least: Content}, m.v, func(i int32) []byte { return m.raw[i] })
	m.e.grow = g.read
	m.sent = newView(&m.e.log)
	return m
}

// far adds what is released while the script reaches far enough.
func (m *memory) far(out []outgoing) []string {
	for !m.e.farEnough() {
		out = append(out, m.e.reach()...)
	}
	return m.lines(out)
}

// A script that is made while it is played gives the answers of the whole one,
// whatever the client does, and needs not all of a recording for the beginning.
func TestGrowing(t *testing.T) {
	early := 0
	for name, lines := range oneLane(t) {
		rng := rand.New(rand.NewPCG(1, uint64(len(lines))))
		dialectName, name, _ := strings.Cut(name, " ")
		for round := range 12 {
			inputs := oddly(rng, lines, round)
			for _, step := range []int64{1, 2, 5, 1000} {
				whole := newMemory(t, dialectName, matching{}, lines)
				grown := newGrown(t, whole, lines, step)
				same := func(what string, a, b []string) {
					t.Helper()
					if !slices.Equal(a, b) {
						t.Fatalf("%s, round %d, step %d, %s:\nwhole  %q\ngrown  %q\ninputs %q\n%s", name, round, step, what, a, b, inputs, numbered(lines))
					}
				}
				same("start", whole.lines(whole.e.start()), grown.far(grown.e.start()))
				if !grown.s.whole {
					early++
				}
				for _, in := range inputs {
					for range rng.IntN(3) { // in spare time
						if !grown.s.whole {
							same("spare time", nil, grown.lines(grown.e.reach()))
						}
					}
					same(in, whole.lines(whole.e.frame([]byte(in))), grown.far(grown.e.frame([]byte(in))))
					if whole.e.leaves() != grown.e.leaves() {
						t.Fatalf("%s, round %d, step %d: after %s one leaves and the other does not", name, round, step, in)
					}
				}
				if round%2 == 0 {
					a, stallsWhole := whole.e.stall()
					b, stallsGrown := grown.e.stall()
					same(fmt.Sprintf("stall %v %v", stallsWhole, stallsGrown), whole.lines(a), grown.lines(b))
				}
				same("eof", whole.lines(whole.e.eof()), grown.lines(grown.e.eof()))
				whole.v.close(whole.e, false)
				grown.v.close(grown.e, false)
				same("reports", []string{whole.kinds()}, []string{grown.kinds()})
			}
		}
	}
	if early < 100 {
		t.Errorf("only %d replays began before their script was whole", early)
	}
}

// oneLane yields recordings of one lane: the samples, the cases and generated ones.
// Their names begin with their dialect.
func oneLane(t *testing.T) iter.Seq2[string, []string] {
	t.Helper()
	return func(yield func(string, []string) bool) {
		give := func(dialectName, name string, lines []string) bool {
			d, err := dialect.Load(dialectName)
			if err != nil {
				t.Fatal(err)
			}
			return !d.OneLane() || yield(dialectName+" "+name, lines)
		}
		far := []string{
			`in {"type":"run","query":"q"}`,
			`out {"type":"tool_call","seq":5,"call_id":"c","name":"n","args":{}}`,
			`out {"type":"event","seq":6,"runtimeEventType":"textDelta","text":"a"}`,
			`in {"type":"tool_result","call_id":"c","summary":"s"}`,
			`out {"type":"event","seq":5,"runtimeEventType":"toolCallStarted","tool_name":"n","args_json":"{}"}`,
			`out {"type":"done","seq":7,"outcome":"completed"}`, `in {"type":"run","query":"r"}`, `out {"type":"done","seq":8,"outcome":"completed"}`,
		}
		if !give("phi", "a group whose members are far apart", far) {
			return
		}
		cases, _ := filepath.Glob("testdata/cases/*.txt")
		for _, file := range cases {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if name, lines, _ := parseCase(t, string(b)); !give(name, file, lines) {
				return
			}
		}
		samples, _ := filepath.Glob("../samples/*.agentrec")
		for _, file := range samples {
			if name, lines := sampleLines(t, file); !give(name, file, lines) {
				return
			}
		}
		for seed := range uint64(10) {
			if g, _ := generatePi(seed); !give(g.dialect, fmt.Sprint("pi ", seed), g.lines) {
				return
			}
		}
	}
}

// oddly returns what the recorded client sends, with one thing or another done
// otherwise.
func oddly(rng *rand.Rand, lines []string, round int) []string {
	var inputs []string
	for _, line := range lines {
		if frame, ok := strings.CutPrefix(line, "in "); ok {
			inputs = append(inputs, frame)
		}
	}
	for range min(round, 3) {
		if len(inputs) == 0 {
			break
		}
		i, j := rng.IntN(len(inputs)), rng.IntN(len(inputs))
		switch rng.IntN(4) {
		case 0:
			inputs = slices.Delete(inputs, i, i+1)
		case 1:
			inputs[i], inputs[j] = inputs[j], inputs[i]
		case 2:
			inputs = slices.Insert(inputs, i, inputs[j])
		case 3:
			inputs[i] = another(inputs[i])
		}
	}
	return inputs
}
