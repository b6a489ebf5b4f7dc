package inspect

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/internal/redact"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// diffOptions is what `agentrec diff` is asked for.
type diffOptions struct {
	A, B     string // FILE or FILE#SESSION
	Dialect  string
	Ignore   dialect.Paths
	NoFrames bool
	From     int64 // of A; 0 is all
	JSON     bool
	Color    string
	Out      io.Writer
}

// The JSON objects of diff: one a line, told apart by "object". Names are
// documented in the help of diff and stay as they are.
type (
	jsonTurnDiff struct {
		Object      string `json:"object"` // "turn"
		A           int    `json:"a"`      // number of the turn, 0 when there is none
		B           int    `json:"b"`
		Outside     bool   `json:"outside,omitempty"` // what lies outside of turns
		Prompt      string `json:"prompt"`
		Missing     string `json:"missing,omitempty"` // the side that has no such turn
		Differences int    `json:"differences"`
		TookAUS     int64  `json:"took_a_us"`
		TookBUS     int64  `json:"took_b_us"`
	}
	jsonItemDiff struct {
		Object string `json:"object"` // "difference"
		Turn   int    `json:"turn"`   // as it is numbered in a, 0 outside
		Kind   string `json:"kind"`
		Name   string `json:"name"`
		SeqA   int64  `json:"seq_a"`
		SeqB   int64  `json:"seq_b"`
		Part   string `json:"part,omitempty"` // "" when only one side has the item
		Path   string `json:"path,omitempty"`
		A      string `json:"a"`
		B      string `json:"b"`
	}
	jsonLabelDiff struct {
		Object string `json:"object"` // "frames"
		Turn   int    `json:"turn"`
		Label  string `json:"label"`
		A      int64  `json:"a"`
		B      int64  `json:"b"`
	}
	jsonCallPair struct {
		Object  string `json:"object"` // "call"
		Turn    int    `json:"turn"`
		Name    string `json:"name"`
		SeqA    int64  `json:"seq_a"`
		SeqB    int64  `json:"seq_b"`
		TookAUS *int64 `json:"took_a_us"` // null without a result
		TookBUS *int64 `json:"took_b_us"`
	}
)

// diff compares two sessions and returns Findings when they differ.
func diff(ctx context.Context, o diffOptions) error {
	a, err := diffSide(ctx, o.A, o.Dialect)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := diffSide(ctx, o.B, o.Dialect)
	if err != nil {
		return err
	}
	defer b.Close()
	ta, err := transcript.Open(ctx, a.Session, a.Dialect)
	if err != nil {
		return err
	}
	tb, err := transcript.Open(ctx, b.Session, b.Dialect)
	if err != nil {
		return err
	}
	options, asked := transcript.DiffOptions{Ignore: o.Ignore, NoFrames: o.NoFrames}, llm.PairOptions{Ignore: o.Ignore}
	if o.From > 0 {
		options.From = [2]int64{o.From, transcript.FrameAfter(tb, clientFrames(ta, o.From))}
		asked.From = options.From
	}
	if options.Rewrite, err = tokensApart(ctx, a, b); err != nil {
		return err
	}
	d, err := transcript.DiffSessions(ctx, ta, tb, options)
	if err != nil {
		return err
	}
	pairs, err := llm.PairSessions(ctx, a.Session, b.Session, asked)
	if err != nil {
		return err
	}
	p := newPrinter(o.Out, o.Color)
	if o.JSON {
		diffJSON(p, d)
		pairsJSON(p, pairs)
	} else {
		for _, l := range diffLines(d, pairs) {
			p.line(l)
		}
	}
	n := d.Differences + llm.CountDifferences(pairs)
	if err := p.finish(nil); err != nil || n == 0 {
		return err
	}
	return Findings{Count: n}
}

// tokensApart returns what leaves of redaction tokens only their kind, where two
// recordings have other tokens for the same secret; nil where they do not.
func tokensApart(ctx context.Context, a, b *look) (func(int, string) string, error) {
	x, err := a.DB.Secret(ctx)
	if err != nil {
		return nil, err
	}
	y, err := b.DB.Secret(ctx)
	if err != nil || len(x) > 0 && bytes.Equal(x, y) {
		return nil, err
	}
	return func(_ int, text string) string {
		var out []byte
		rest := []byte(text)
		for start, end := redact.NextToken(rest); start >= 0; start, end = redact.NextToken(rest) {
			kind, _ := redact.IsToken(string(rest[start:end]))
			out = append(append(append(append(out, rest[:start]...), "<redacted:"...), kind...), '>')
			rest = rest[end:]
		}
		return string(append(out, rest...))
	}, nil
}

// clientFrames returns how many frames of the client stand before a frame.
func clientFrames(t *transcript.Transcript, before int64) int64 {
	n := int64(0)
	for _, e := range t.Entries[:min(before-1, int64(len(t.Entries)))] {
		if e.Stream == store.In {
			n++
		}
	}
	return n
}

// diffSide opens FILE or FILE#SESSION.
func diffSide(ctx context.Context, arg, dialectName string) (*look, error) {
	file, session := arg, ""
	if i := strings.LastIndexByte(arg, '#'); i > 0 {
		if _, err := os.Stat(arg); err != nil {
			file, session = arg[:i], arg[i+1:]
		}
	}
	l, err := openLook(ctx, file, session, dialectName)
	if err != nil && session == "" && strings.Contains(err.Error(), "choose one of") {
		return nil, fmt.Errorf("%w (written %s#NUMBER)", err, file)
	}
	return l, err
}

func diffJSON(p *printer, d *transcript.SessionDiff) {
	for _, u := range d.Turns {
		turn := u.A + 1
		p.json(jsonTurnDiff{
			Object: "turn", A: u.A + 1, B: u.B + 1, Outside: u.Outside, Prompt: u.Prompt, Missing: u.Missing(), Differences: u.Differences(),
			TookAUS: micros(u.TookA), TookBUS: micros(u.TookB),
		})
		for _, c := range u.Calls {
			p.json(jsonCallPair{"call", turn, c.Name, c.SeqA, c.SeqB, microsIf(c.TookA), microsIf(c.TookB)})
		}
		for _, i := range u.Items {
			p.json(jsonItemDiff{"difference", turn, i.Kind.String(), i.Name, i.SeqA, i.SeqB, i.Part, i.Path, i.A, i.B})
		}
		for _, l := range u.Labels {
			p.json(jsonLabelDiff{"frames", turn, l.Label, l.A, l.B})
		}
	}
}

// diffLines is the comparison for people.
func diffLines(d *transcript.SessionDiff, pairs []llm.Pair) []line {
	var out []line
	turns := 0
	for _, u := range d.Turns {
		if u.Outside {
			if u.Differences() > 0 {
				out = append(out, line{}.add(toneStrong, "outside of turns: ").add(toneError, count(u.Differences(), "difference")))
				out = append(out, turnLines(u)...)
			}
			continue
		}
		turns++
		out = append(out, turnHead(u))
		out = append(out, turnLines(u)...)
	}
	out = append(out, pairLines(pairs)...)
	sum, in := line{}.add(toneGood, "the same"), " in "+count(turns, "turn")
	if n := d.Differences + llm.CountDifferences(pairs); n > 0 {
		sum = line{}.add(toneError, count(n, "difference"))
	}
	if len(pairs) > 0 {
		in += " and " + count(len(pairs), "exchange")
	}
	return append(out, sum.add(toneDim, in))
}

func turnHead(u transcript.TurnDiff) line {
	var l line
	switch u.Missing() {
	case "a":
		l = l.add(toneStrong, fmt.Sprintf("turn -/%d ", u.B+1))
	case "b":
		l = l.add(toneStrong, fmt.Sprintf("turn %d/- ", u.A+1))
	default:
		l = l.add(toneStrong, fmt.Sprintf("turn %d/%d ", u.A+1, u.B+1))
	}
	l = l.add(toneIn, visibleCut(u.Prompt, 40))
	switch n := u.Differences(); {
	case u.Missing() == "a":
		return l.add(toneError, "  only in B")
	case u.Missing() == "b":
		return l.add(toneError, "  only in A")
	case n > 0:
		l = l.add(toneError, "  "+count(n, "difference"))
	default:
		l = l.add(toneGood, "  same")
	}
	return l.add(toneDim, fmt.Sprintf("  %s | %s", lasting(u.TookA), lasting(u.TookB)))
}

func turnLines(u transcript.TurnDiff) []line {
	var out []line
	for _, c := range u.Calls {
		took := func(d time.Duration) string {
			if d < 0 {
				return "no result"
			}
			return lasting(d)
		}
		out = append(out, line{}.add(toneDim, fmt.Sprintf("  call %s  #%d | #%d  %s | %s", visibleCut(c.Name, 40), c.SeqA, c.SeqB, took(c.TookA), took(c.TookB))))
	}
	for _, i := range u.Items {
		where := i.Part
		if i.Path != "" {
			where += " " + i.Path
		}
		head := line{}.add(tonePlain, "  ").add(toneCall, i.Kind.String()).add(tonePlain, " "+visibleCut(i.Name, 40))
		switch {
		case i.SeqA == 0:
			out = append(out, head.add(toneError, " only in B").add(toneDim, fmt.Sprintf("  #%d", i.SeqB)), changed("+", i.B, 0))
			continue
		case i.SeqB == 0:
			out = append(out, head.add(toneError, " only in A").add(toneDim, fmt.Sprintf("  #%d", i.SeqA)), changed("-", i.A, 0))
			continue
		}
		out = append(out, head.add(toneStrong, " "+where).add(toneDim, fmt.Sprintf("  #%d | #%d", i.SeqA, i.SeqB)))
		out = append(out, changes(i.A, i.B)...)
	}
	for _, l := range u.Labels {
		out = append(out, line{}.add(tonePlain, "  ").add(toneCall, "frames").add(tonePlain, fmt.Sprintf(" %s  %d | %d", visibleCut(l.Label, 60), l.A, l.B)))
	}
	return out
}

// changes are both sides of a difference.
func changes(a, b string) []line {
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	return []line{changed("-", a, from), changed("+", b, from)}
}

// changed is one side of a difference, cut to what stands around byte from,
// where the sides begin to differ.
func changed(sign, text string, from int) line {
	const before, most = 30, 100
	t := toneGood
	if sign == "-" {
		t = toneErr
	}
	if text == "" {
		return line{}.add(t, "    "+sign+" (nothing)")
	}
	lead := ""
	if cut := from - before; cut > 0 {
		for cut < len(text) && text[cut]&0xC0 == 0x80 {
			cut++
		}
		text, lead = text[min(cut, len(text)):], "…"
	}
	return line{}.add(t, "    "+sign+" "+lead+visibleCut(text, most))
}
