package transcript

import (
	"fmt"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// step is a frame in a few letters: "in req 1", "out res 1", "in mute 7" (a
// cancel whose target gets no answer), "in stop" (of the open turn),
// "in run", "out done" (by key), "in list", "out listed" (by key, read only
// between turns), "in [req 1,req 2]" (a batch).
func reading(t *testing.T, words string) (store.Stream, dialect.Reading) {
	t.Helper()
	side, rest, _ := strings.Cut(words, " ")
	stream := map[string]store.Stream{"in": store.In, "out": store.Out, "err": store.Err}[side]
	if strings.HasPrefix(rest, "[") {
		var r dialect.Reading
		for m := range strings.SplitSeq(strings.Trim(rest, "[]"), ",") {
			_, one := reading(t, side+" "+m)
			r.Members = append(r.Members, one)
		}
		return stream, r
	}
	kind, arg, _ := strings.Cut(rest, " ")
	rule := &dialect.Rule{}
	r := dialect.Reading{JSON: true, Rule: rule}
	switch kind {
	case "req":
		r.Role, r.ID = dialect.Request, dialect.Token(arg)
	case "query":
		r.Role, r.ID, rule.Class = dialect.Request, dialect.Token(arg), dialect.Query
	case "res":
		r.Role, r.ID = dialect.Response, dialect.Token(arg)
	case "turn":
		r.Role, r.ID, rule.Turn = dialect.Request, dialect.Token(arg), true
	case "mute":
		r.Role, r.Target, rule.Cancels = dialect.Cancel, dialect.Token(arg), dialect.CancelsID
	case "cancel":
		r.Role, r.Target, rule.Cancels, rule.Answered = dialect.Cancel, dialect.Token(arg), dialect.CancelsID, true
	case "stop":
		r.Role, rule.Cancels, rule.Answered = dialect.Cancel, dialect.CancelsOpen, true
	case "run":
		r.Role, r.Key = dialect.Request, "run"
	case "register":
		r.Role, r.Key = dialect.Request, "register:"+arg
	case "registered":
		r.Role, r.Answers = dialect.Response, []string{"register:" + arg}
	case "done":
		r.Role, r.Answers = dialect.Response, []string{"run"}
	case "list":
		r.Role, r.Key, rule.Idle = dialect.Request, "list", true
	case "again":
		r.Role, r.ID, rule.Turn, rule.Idle = dialect.Request, dialect.Token(arg), true, true
	case "listed":
		r.Role, r.Answers = dialect.Response, []string{"list"}
	case "note":
		r.Role = dialect.Notification
	default:
		t.Fatalf("no such step: %q", words)
	}
	return stream, r
}

func TestPairer(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps string
		want  string // "seq>partner", "seq x target" for a cancel, "seq.member>seq.member" in batches
		open  string // open at the end, "in" side then "out" side
	}{
		{"by id", "in req 1; out res 1", "2>1", "|"},
		{"an id is a token with its type", `in req 1; in req "1"; out res "1"; out res 1`, "3>2 4>1", "|"},
		{"the same id on both sides", "in req 2; out req 2; in res 2; out res 2", "3>2 4>1", "|"},
		{"the oldest open of equal id", "in req 1; in req 1; out res 1; out res 1; out res 1", "3>1 4>2", "|"},
		{"an id again after its answer", "in req 1; out res 1; in req 1; out res 1", "2>1 4>3", "|"},
		{"null and zero are ids", "in req 0; in req null; out res null; out res 0", "3>2 4>1", "|"},
		{"cancelled without an answer", "in req 7; in mute 7; in req 8; out res 8", "2x1 4>3", "|"},
		{"a late answer finds the cancelled one", "in req 7; in mute 7; out res 7; out res 7", "2x1 3>1", "|"},
		{"an id used again after its cancel", "in req 7; in mute 7; in req 7; out res 7; out res 7", "2x1 4>3 5>1", "|"},
		{"a cancel that is answered", "in req 3; in cancel 3; out res 3", "2x1 3>1", "|"},
		{"a cancel of the open turn", "in turn 3; in req 4; in stop; out res 3", "3x1 4>1", "2|"},
		{"a cancel where no turns are marked", "in req 3; in query 4; in stop; out res 3", "3x1 4>1", "2|"},
		{"a cancel with nothing open", "in req 3; out res 3; in stop; in mute 3", "2>1", "|"},
		{"by kind and field", "in register a; in register b; out registered b; out registered a", "3>2 4>1", "|"},
		{"by kind", "in run; out done; in run; out done; out done", "2>1 4>3", "|"},
		{"swallowed in a turn", "in turn 1; in list; out res 1; in list; out listed", "3>1 5>4", "2|"},
		{"read after the turn after all", "in turn 1; in list; out res 1; out listed; in list; out listed", "3>1 4>2 6>5", "|"},
		{"two across the end of a turn", "in turn 1; in list; out res 1; in list; out listed; out listed", "3>1 5>4 5>2 6>4", "|"},
		{"three across the end of a turn", "in turn 1; in list; out res 1; in list; in list; out listed; out listed; out listed; in list; out listed", "3>1 6>4 7>5 6>2 7>4 8>5 10>9", "|"},
		{"an answer too many long after", "in turn 1; in list; out res 1" + strings.Repeat("; in list; out listed", 20) + "; out listed", "3>1 5>4 7>6 9>8 11>10 13>12 15>14 17>16 19>18 21>20 23>22 25>24 27>26 29>28 31>30 33>32 35>34 37>36 39>38 41>40 43>42 44>2", "|"},
		{"a turn swallowed in a turn is not the open one", "in again 1; in again 1; in stop; out res 1; in list; out listed", "3x1 4>1 6>5", "2|"},
		{"read again after a cancelled turn", "in turn 1; in mute 1; in list; in list; out listed; out listed", "2x1 5>3 6>4", "|"},
		{"no partner", "out res 1; in res 9; out req 9", "", "|3"},
		{"dangling on both sides", "in req 1; out req 1; in note; err note", "", "1|2"},
		{"a batch pairs member by member", "in [req 1,req 2]; out [res 2,res 1]", "2.0>1.1 2.1>1.0", "|"},
		{"a batch answered one by one", "in [req 1,note,req 2]; out res 2; out res 1", "2>1.2 3>1", "|"},
		{"the middle of the open list goes first", "in req 1; in req 2; in req 3; out res 2", "4>2", "1 3|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p Pairer
			var got []string
			seq := int64(0)
			for words := range strings.SplitSeq(c.steps, "; ") {
				seq++
				stream, r := reading(t, words)
				for _, l := range p.Next(seq, stream, &r) {
					sign := ">"
					if l.Cancels {
						sign = "x"
					}
					frame := seq
					if l.Frame != 0 {
						frame = l.Frame
					}
					got = append(got, place(frame, l.Member, len(r.Members) > 0)+sign+place(l.Request.Seq, l.Request.Member, l.Request.Member > 0 || len(r.Members) > 0))
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("links %q, want %q", s, c.want)
			}
			var sides [2][]string
			for i, stream := range []store.Stream{store.In, store.Out} {
				for q := range p.Open(stream) {
					sides[i] = append(sides[i], fmt.Sprint(q.Seq))
				}
			}
			if s := strings.Join(sides[0], " ") + "|" + strings.Join(sides[1], " "); s != c.open {
				t.Errorf("open %q, want %q", s, c.open)
			}
		})
	}
}

func place(seq int64, member int, batch bool) string {
	if batch {
		return fmt.Sprintf("%d.%d", seq, member)
	}
	return fmt.Sprint(seq)
}

// A long session with many requests that are never answered must not make each
// answer slower.
func TestPairerManyOpen(t *testing.T) {
	var p Pairer
	const n = 200_000
	for i := range n {
		r := dialect.Reading{Role: dialect.Request, ID: dialect.Token(fmt.Sprint(i))}
		p.Next(int64(i+1), store.In, &r)
	}
	for i := n - 1; i >= 0; i-- {
		r := dialect.Reading{Role: dialect.Response, ID: dialect.Token(fmt.Sprint(i))}
		links := p.Next(int64(2*n-i), store.Out, &r)
		if len(links) != 1 || links[0].Request.Seq != int64(i+1) {
			t.Fatalf("answer to %d: %+v", i, links)
		}
	}
	for range p.Open(store.In) {
		t.Fatal("a request is still open")
	}
}
