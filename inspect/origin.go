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

// idLines says where a frame stands: what it is to the dialect, what it answers
// and is answered by, the turn and call it belongs to, and the ids in it that a
// replay binds, with the frame that brought each into being. A replay makes an
// agent's frame wait for the client frames that these name.
func idLines(ctx context.Context, s *store.Session, d *dialect.Dialect, t *transcript.Transcript, f store.Frame) lines {
	r := d.Read(f.Stream, f.Raw)
	var out lines
	fact := func(name string, tn tone, format string, args ...any) {
		out = append(out, line{}.pad(toneDim, name, 14).add(tn, fmt.Sprintf(format, args...)))
	}
	fact("dialect", tonePlain, "%s", d.Name())
	fact("label", tonePlain, "%s", dash(r.Label))
	fact("role", tonePlain, "%s", roleName(r.Role))
	fact("in a replay", tonePlain, "%s", r.Waits(f.Stream))
	if f.Stream != store.Err {
		fact("", tonePlain, "%s", d.Lane(f.Stream, &r))
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
				fact("turn", tonePlain, "%d, from #%d to #%d", e.Turn, turn.First, turn.Last)
			}
			if e.Flags.Has(transcript.InCall) {
				c := t.Calls[e.Part-1]
				fact("call", toneCall, "%s, from #%d to #%d", dash(c.Name), c.Seq, c.ResultSeq)
			}
		}
	}
	slots := d.Slots(f.Stream, f.Raw)
	if len(slots) == 0 {
		return out
	}
	first := firstSeen(ctx, s, d, f.Seq, slots, f.Raw)
	out = append(out, nil, line{{"ids, which a replay binds to live ones", toneStrong}})
	for _, x := range slots {
		token := string(f.Raw[x.Start:x.End])
		by := "agent"
		if x.ByClient {
			by = "client"
		}
		text := "minted by the " + by
		if at := first[slotValue{x.Namespace, token}]; at > 0 && at != f.Seq {
			text += fmt.Sprintf(", first in #%d", at)
		} else if at == f.Seq {
			text += ", first here"
		}
		out = append(out, line{}.pad(toneDim, x.Namespace, 14).pad(toneOut, token, 30).add(tonePlain, " "+text))
	}
	return out
}

// maxLookBack is how many frames before one are looked at for where its ids
// come from.
const maxLookBack = 20_000

// firstSeen returns for each id the first frame that holds it.
func firstSeen(ctx context.Context, s *store.Session, d *dialect.Dialect, seq int64, slots []dialect.Slot, raw []byte) map[slotValue]int64 {
	first := map[slotValue]int64{}
	for _, x := range slots {
		first[slotValue{x.Namespace, string(raw[x.Start:x.End])}] = 0
	}
	left := len(first)
	for f, err := range s.Frames(ctx, max(seq-maxLookBack, 1), seq) {
		if err != nil || left == 0 {
			break
		}
		for _, x := range d.Slots(f.Stream, f.Raw) {
			v := slotValue{x.Namespace, string(f.Raw[x.Start:x.End])}
			if at, wanted := first[v]; wanted && at == 0 {
				first[v] = f.Seq
				left--
			}
		}
	}
	return first
}
