package transcript

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// SessionDiff is the comparison of two sessions, turn by turn.
type SessionDiff struct {
	Turns       []TurnDiff // in order; what lies outside of turns comes first
	Differences int
}

// TurnDiff compares a turn of one session with a turn of the other.
type TurnDiff struct {
	A, B         int // indexes into Turns; -1: outside of turns, or missing when the other is not
	Outside      bool
	Prompt       string
	TookA, TookB time.Duration
	Items        []ItemDiff // what differs, in order
	Calls        []CallPair // calls that are in both, for their latency
	Labels       []LabelDiff
}

// Missing tells which side has no such turn: "a", "b" or "".
func (d TurnDiff) Missing() string {
	switch {
	case d.Outside || d.A >= 0 && d.B >= 0:
		return ""
	case d.A < 0:
		return "a"
	}
	return "b"
}

// Differences is how many there are in the turn.
func (d TurnDiff) Differences() int {
	if d.Missing() != "" {
		return 1
	}
	return len(d.Items) + len(d.Labels)
}

// ItemDiff is one difference between two items; one of the seqs is 0 when only
// the other side has it.
type ItemDiff struct {
	Kind       Kind
	Name       string // of a call the tool, else the label
	SeqA, SeqB int64
	Part       string // what differs: "text", "args", "result", "answer", "outcome", "request", "response"
	Path       string // the place in JSON; "" for a text
	A, B       string
}

// CallPair is a call made in both sessions.
type CallPair struct {
	Name         string
	SeqA, SeqB   int64
	TookA, TookB time.Duration // -1 without a result
}

// LabelDiff is a kind of frame that one turn has more often than the other.
// Deltas do not count: how a text is cut says nothing.
type LabelDiff struct {
	Label string
	A, B  int64
}

// DiffOptions say what counts as a difference.
type DiffOptions struct {
	Ignore   dialect.Paths // places besides the dialect's volatile ones
	NoFrames bool          // leave out which kinds of frames there were
	From     [2]int64      // compare turns and items from these frames of each session on; 0 is all
	// Rewrite, when not nil, is applied to every text and frame before it is
	// compared, of the first session (0) and of the second (1): where values are
	// known to stand for each other it makes them equal.
	Rewrite func(side int, text string) string
}

// maxCompared bounds how much of a text is compared, in bytes.
const maxCompared = 1 << 20

// DiffSessions compares two sessions by turns, items and frames. Places that
// the dialect calls volatile do not count, deltas are compared as the text they
// make, and calls that stand side by side are compared as a set.
func DiffSessions(ctx context.Context, a, b *Transcript, o DiffOptions) (*SessionDiff, error) {
	d := &differ{ctx: ctx, a: &side{t: a}, b: &side{t: b, n: 1}, options: o}
	d.a.group(o.From[0])
	d.b.group(o.From[1])
	out := &SessionDiff{}
	add := func(x TurnDiff, err error) error {
		if err != nil {
			return err
		}
		out.Turns = append(out.Turns, x)
		out.Differences += x.Differences()
		return nil
	}
	if err := add(d.turn(-1, -1)); err != nil {
		return nil, err
	}
	for _, p := range pairUp(prompts(a), prompts(b), func(x, y string) bool { return true }) {
		if err := add(d.turn(p[0], p[1])); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func prompts(t *Transcript) []string {
	list := make([]string, len(t.Turns))
	for i, u := range t.Turns {
		list[i] = u.Prompt
	}
	return list
}

type differ struct {
	ctx     context.Context
	a, b    *side
	options DiffOptions
}

// side is one of the two sessions.
type side struct {
	t      *Transcript
	n      int                // 0 or 1
	items  [][]int            // of each turn, by index + 1; 0 is outside
	labels []map[uint16]int64 // frames by label, likewise
}

// group sorts what stands from frame from on by turns.
func (s *side) group(from int64) {
	s.items = make([][]int, len(s.t.Turns)+1)
	s.labels = make([]map[uint16]int64, len(s.t.Turns)+1)
	for _, e := range s.t.Entries[min(max(from-1, 0), int64(len(s.t.Entries))):] {
		if e.Flags.Has(Delta) || e.Stream == store.Err || e.Flags.Has(Missing) {
			continue
		}
		if s.labels[e.Turn] == nil {
			s.labels[e.Turn] = map[uint16]int64{}
		}
		s.labels[e.Turn][e.Label]++
	}
	for i := range s.t.items {
		it := s.t.Item(i)
		if it.Seq < from && it.Last < from {
			continue
		}
		turn := it.Turn + 1
		s.items[turn] = append(s.items[turn], i)
	}
}

// turn compares two turns; -1 and -1 is what lies outside.
func (d *differ) turn(a, b int) (TurnDiff, error) {
	x := TurnDiff{A: a, B: b, Outside: a < 0 && b < 0}
	if a >= 0 {
		x.Prompt, x.TookA = d.a.t.Turns[a].Prompt, d.a.t.Turns[a].Took()
	}
	if b >= 0 {
		x.TookB = d.b.t.Turns[b].Took()
		if a < 0 {
			x.Prompt = d.b.t.Turns[b].Prompt
		}
	}
	if x.Missing() != "" {
		return x, nil
	}
	as, err := d.read(d.a, a+1)
	if err != nil {
		return x, err
	}
	bs, err := d.read(d.b, b+1)
	if err != nil {
		return x, err
	}
	pairs := pairUp(keys(as), keys(bs), func(p, q string) bool { return kindOf(p) == kindOf(q) })
	for _, p := range pairCalls(pairs, as, bs) {
		switch {
		case p[0] < 0:
			x.Items = append(x.Items, bs[p[1]].only(false))
		case p[1] < 0:
			x.Items = append(x.Items, as[p[0]].only(true))
		default:
			i, j := as[p[0]], bs[p[1]]
			if i.it.Kind == KindCall {
				x.Calls = append(x.Calls, CallPair{i.it.Name, i.it.Seq, j.it.Seq, i.it.Took, j.it.Took})
			}
			diffs, err := d.items(i, j)
			if err != nil {
				return x, err
			}
			x.Items = append(x.Items, diffs...)
		}
	}
	if !d.options.NoFrames {
		x.Labels = d.labels(a, b)
	}
	return x, nil
}

// pairCalls pairs the calls that are left over on both sides: calls of one tool
// are a set, their order says nothing.
func pairCalls(pairs [][2]int, as, bs []unit) [][2]int {
	var left []int // places in pairs of calls that only b has
	for i, p := range pairs {
		if p[0] < 0 && bs[p[1]].it.Kind == KindCall {
			left = append(left, i)
		}
	}
	gone := map[int]bool{}
	for i, p := range pairs {
		if p[1] >= 0 || as[p[0]].it.Kind != KindCall {
			continue
		}
		for n, j := range left {
			if kindOf(bs[pairs[j][1]].key) == kindOf(as[p[0]].key) {
				pairs[i][1] = pairs[j][1]
				gone[j] = true
				left = slices.Delete(left, n, n+1)
				break
			}
		}
	}
	out := pairs[:0]
	for i, p := range pairs {
		if !gone[i] {
			out = append(out, p)
		}
	}
	return out
}

// unit is an item with what it says.
type unit struct {
	it  Item
	c   Content
	key string // kind, a NUL, and what makes it the same as another
}

func keys(list []unit) []string {
	out := make([]string, len(list))
	for i, u := range list {
		out[i] = u.key
	}
	return out
}

func kindOf(key string) string {
	kind, _, _ := strings.Cut(key, "\x00")
	return kind
}

// only is the difference that one side alone has the item.
func (u unit) only(inA bool) ItemDiff {
	x := ItemDiff{Kind: u.it.Kind, Name: u.name()}
	text := u.c.Text
	if text == "" || u.it.Kind == KindCall {
		text = u.c.Args
	}
	if inA {
		x.SeqA, x.A = u.it.Seq, text
	} else {
		x.SeqB, x.B = u.it.Seq, text
	}
	return x
}

func (u unit) name() string {
	if u.it.Kind == KindCall {
		return u.it.Name
	}
	return u.it.Label
}

// read reads the items of a turn that are compared. Calls that stand side by
// side are put in an order that does not depend on which came first.
func (d *differ) read(s *side, turn int) ([]unit, error) {
	var list []unit
	calls := 0 // how many stand at the end of list
	for _, i := range s.items[turn] {
		it := s.t.Item(i)
		if it.Kind == KindLog || it.Kind == KindStderr || it.Kind == KindExchange || it.Kind == KindEvent && it.Event.Kind != store.EventExit {
			continue
		}
		c, err := s.t.Content(d.ctx, it, maxCompared)
		if err != nil {
			return nil, err
		}
		c.Text, c.Args, c.Answer = d.rewrite(s, c.Text), d.rewrite(s, c.Args), d.rewrite(s, c.Answer)
		u := unit{it: it, c: c}
		switch it.Kind {
		case KindCall:
			u.key = "call " + it.Name + "\x00" + normal(c.Args) + "\x00" + c.Text
		case KindRequest, KindCancel, KindEnd, KindPermission:
			u.key = it.Kind.String() + " " + it.Label + "\x00"
		case KindEvent:
			u.key = "exit\x00"
		default:
			u.key = it.Kind.String() + "\x00" + c.Text
		}
		list = append(list, u)
		if it.Kind != KindCall {
			calls = 0
			continue
		}
		calls++
		slices.SortStableFunc(list[len(list)-calls:], func(p, q unit) int { return cmp.Compare(p.key, q.key) })
	}
	return list, nil
}

// normal writes JSON so that equal values give equal text as often as is
// cheap: without white space outside strings.
func normal(raw string) string {
	if !dialect.Valid([]byte(raw)) {
		return raw
	}
	t := parse([]byte(raw))
	var b strings.Builder
	t.write(&b, 0)
	return b.String()
}

// write writes a value with sorted keys and canonical numbers.
func (t *tree) write(b *strings.Builder, n int32) {
	switch t.kind(n) {
	case '{':
		members := t.children(n)
		slices.SortStableFunc(members, func(x, y int32) int { return cmp.Compare(t.name(x), t.name(y)) })
		b.WriteByte('{')
		for i, m := range members {
			if i > 0 && t.name(members[i-1]) == t.name(m) {
				continue
			}
			fmt.Fprintf(b, "%q:", t.name(m))
			t.write(b, m)
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		for _, m := range t.children(n) {
			t.write(b, m)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case '"':
		fmt.Fprintf(b, "%q", Unquote(t.text(n)))
	case '0':
		b.WriteString(canonical(string(t.text(n))))
	default:
		b.Write(t.text(n))
	}
}

// items compares two items of one kind.
func (d *differ) items(i, j unit) ([]ItemDiff, error) {
	base := ItemDiff{Kind: i.it.Kind, Name: i.name(), SeqA: i.it.Seq, SeqB: j.it.Seq}
	var out []ItemDiff
	text := func(part, a, b string) {
		if a != b {
			x := base
			x.Part, x.A, x.B = part, a, b
			out = append(out, x)
		}
	}
	frames := func(part string, a, b int64) error {
		list, err := d.frames(a, b)
		for _, f := range list {
			x := base
			x.Part, x.Path, x.A, x.B = part, f.Path, f.Recorded, f.Live
			out = append(out, x)
		}
		return err
	}
	switch i.it.Kind {
	case KindCall:
		text("tool", i.it.Name, j.it.Name)
		for _, f := range Compare([]byte(i.c.Args), []byte(j.c.Args), d.options.Ignore, nil) {
			x := base
			x.Part, x.Path, x.A, x.B = "args", f.Path, f.Recorded, f.Live
			out = append(out, x)
		}
		text("result", i.c.Text, j.c.Text)
		if i.it.Failed != j.it.Failed {
			text("failed", fmt.Sprint(i.it.Failed), fmt.Sprint(j.it.Failed))
		}
	case KindEnd:
		return out, frames("end", i.it.Seq, j.it.Seq)
	case KindRequest, KindCancel, KindPermission:
		if err := frames("request", i.it.Seq, j.it.Seq); err != nil {
			return nil, err
		}
		switch {
		case i.it.Answer == 0 && j.it.Answer == 0:
		case i.it.Answer == 0:
			text("response", "", j.c.Answer)
		case j.it.Answer == 0:
			text("response", i.c.Answer, "")
		default:
			return out, frames("response", i.it.Answer, j.it.Answer)
		}
	case KindEvent:
		text("exit", Exit(i.it.Event.Exit), Exit(j.it.Event.Exit))
	case KindPlan:
		text("text", i.c.Text, j.c.Text)
		if i.c.Text == j.c.Text {
			text("args", normal(i.c.Args), normal(j.c.Args))
		}
	default:
		text("text", i.c.Text, j.c.Text)
	}
	return out, nil
}

// Exit says how an agent ended, for people.
func Exit(e *store.Exit) string {
	if e == nil {
		return "exit status unknown"
	}
	return e.Error()
}

// frames compares two frames, less volatile places.
func (d *differ) frames(a, b int64) ([]Difference, error) {
	f, err := d.a.t.Session.Frame(d.ctx, a)
	if err != nil {
		return nil, fmt.Errorf("comparing frame %d: %w", a, err)
	}
	g, err := d.b.t.Session.Frame(d.ctx, b)
	if err != nil {
		return nil, fmt.Errorf("comparing frame %d: %w", b, err)
	}
	if f.Raw == nil || g.Raw == nil {
		return nil, nil // giants are not compared
	}
	ignore := d.a.t.Dialect.Volatile(f.Stream, f.Raw).Join(d.b.t.Dialect.Volatile(g.Stream, g.Raw)).Join(d.options.Ignore)
	return Compare([]byte(d.rewrite(d.a, string(f.Raw))), []byte(d.rewrite(d.b, string(g.Raw))), ignore, nil), nil
}

func (d *differ) rewrite(s *side, text string) string {
	if d.options.Rewrite == nil || text == "" {
		return text
	}
	return d.options.Rewrite(s.n, text)
}

// labels counts the frames of two turns by label.
func (d *differ) labels(a, b int) []LabelDiff {
	counts := map[string]*LabelDiff{}
	count := func(s *side, turn int, which func(*LabelDiff) *int64) {
		for i, n := range s.labels[turn+1] {
			name := s.t.Labels[i].Name
			if counts[name] == nil {
				counts[name] = &LabelDiff{Label: name}
			}
			*which(counts[name]) += n
		}
	}
	count(d.a, a, func(l *LabelDiff) *int64 { return &l.A })
	count(d.b, b, func(l *LabelDiff) *int64 { return &l.B })
	var out []LabelDiff
	for _, l := range counts {
		if l.A != l.B {
			out = append(out, *l)
		}
	}
	slices.SortFunc(out, func(x, y LabelDiff) int { return cmp.Compare(x.Label, y.Label) })
	return out
}

// FrameAfter returns the seq of the client frame that follows the first n ones,
// or one behind the last frame when there is none.
func FrameAfter(t *Transcript, n int64) int64 {
	for i, e := range t.Entries {
		if e.Stream == store.In {
			if n == 0 {
				return int64(i) + 1
			}
			n--
		}
	}
	return int64(len(t.Entries)) + 1
}
