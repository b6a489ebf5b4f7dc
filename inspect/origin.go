package inspect

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// usageText says what is known of tokens and cost, "" when nothing is.
func usageText(u transcript.Usage) string {
	if u.Frames == 0 {
		return ""
	}
	var list []string
	if u.Input+u.Output > 0 {
		list = append(list, fmt.Sprintf("%d tokens in, %d out", u.Input, u.Output))
	}
	if u.Cost > 0 {
		list = append(list, "cost "+strconv.FormatFloat(u.Cost, 'g', 4, 64))
	}
	return strings.Join(list, ", ")
}

// standing is what is found out about a frame behind the view.
type standing struct {
	first map[slotValue]int64 // the first frame that holds an id
	from  int64               // it was looked for from this frame on
	waits string              // what a replay waits for before it sends the frame, "" when that is not known
	err   error
}

// idLines says where a frame stands: what it is to the dialect, what it answers
// and is answered by, the turn and call it belongs to, what a replay waits for
// before it sends it, and the ids in it that a replay binds, with the frame that
// brought each into being. known is nil while that is looked for.
func idLines(d *dialect.Dialect, t *transcript.Transcript, f store.Frame, known *standing) []line {
	r := d.Read(f.Stream, f.Raw)
	var out []line
	fact := func(name string, tn tone, format string, args ...any) {
		out = append(out, line{}.pad(toneDim, name, 14).add(tn, fmt.Sprintf(format, args...)))
	}
	fact("dialect", tonePlain, "%s", d.Name())
	fact("label", tonePlain, "%s", dash(r.Label))
	fact("role", tonePlain, "%s", transcript.RoleName(r.Role))
	fact("in a replay", tonePlain, "%s", r.Waits(f.Stream))
	if f.Stream != store.Err {
		fact("", tonePlain, "%s", d.Lane(f.Stream, &r))
	}
	switch {
	case known == nil:
		fact("", toneAsk, "looking for what it waits for...")
	case known.err != nil:
		fact("", toneError, "%v", known.err)
	case known.waits != "":
		fact("goes out", toneIn, "%s", known.waits)
	}
	if t != nil {
		if e, ok := t.Entry(f.Seq); ok {
			if e.Pair != 0 {
				word := "answered by"
				if int64(e.Pair) < f.Seq {
					word = "answers"
				}
				fact(word, toneIn, "#%d, %s", e.Pair, lasting(t.Took(f.Seq)))
			}
			if c := t.Conversation(e.Conversation); c != "" {
				fact("conversation", tonePlain, "%s", c)
			}
			if e.Turn > 0 {
				turn := t.Turns[e.Turn-1]
				end := "still open"
				if turn.Last > 0 {
					end = fmt.Sprintf("to #%d", turn.Last)
				}
				fact("turn", tonePlain, "%d, from #%d %s", e.Turn, turn.First, end)
			}
			if e.Flags.Has(transcript.InCall) {
				c := t.Calls[e.Part-1]
				end := "without a result"
				if c.ResultSeq > 0 {
					end = fmt.Sprintf("to #%d", c.ResultSeq)
				}
				fact("call", toneCall, "%s, from #%d %s", dash(c.Name), c.Seq, end)
			}
		}
	}
	slots := d.Slots(f.Stream, f.Raw)
	if len(slots) == 0 {
		return out
	}
	out = append(out, nil, line{{"ids, which a replay binds to live ones", toneStrong}})
	for _, x := range slots {
		token := string(f.Raw[x.Start:x.End])
		by := "agent"
		if x.ByClient {
			by = "client"
		}
		out = append(out, line{}.pad(toneDim, x.Namespace, 14).add(toneOut, token).add(tonePlain, "  minted by the "+by+known.where(slotValue{x.Namespace, token}, f.Seq)))
	}
	return out
}

// where says in which frame an id stands first.
func (k *standing) where(id slotValue, here int64) string {
	if k == nil {
		return ""
	}
	switch at := k.first[id]; {
	case at == 0:
		return ""
	case k.from > 1:
		return fmt.Sprintf(", in #%d or before", at)
	case at == here:
		return ", first here"
	default:
		return fmt.Sprintf(", first in #%d", at)
	}
}

// maxLookBack is how many frames before one are looked at for where its ids
// come from.
const maxLookBack = 20_000

// firstSeen finds for each id of a frame the first frame that holds it.
func (k *standing) firstSeen(ctx context.Context, s *store.Session, d *dialect.Dialect, here store.Frame) {
	slots := d.Slots(here.Stream, here.Raw)
	k.first, k.from = map[slotValue]int64{}, max(here.Seq-maxLookBack, 1)
	for _, x := range slots {
		k.first[slotValue{x.Namespace, string(here.Raw[x.Start:x.End])}] = 0
	}
	left := len(k.first)
	for f, err := range s.Frames(ctx, k.from, here.Seq) {
		if err != nil || left == 0 {
			return
		}
		for _, x := range d.Slots(f.Stream, f.Raw) {
			v := slotValue{x.Namespace, string(f.Raw[x.Start:x.End])}
			if at, wanted := k.first[v]; wanted && at == 0 {
				k.first[v] = f.Seq
				left--
			}
		}
	}
}
