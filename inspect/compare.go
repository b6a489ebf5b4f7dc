package inspect

import (
	"context"
	"fmt"
	"strings"

	"agentrec/internal/llm"
	"agentrec/internal/transcript"
)

// couple is a row of a comparison: an item of either session, -1 for none.
type couple struct {
	a, b int
	same bool      // both say the same; of one alone, the other stands elsewhere
	pair *llm.Pair // how two exchanges differ
}

// maxCompare is how much of an item's texts is compared, in bytes.
const maxCompare = 64 << 10

// compareItems pairs the items of two sessions: those that say the same first,
// and between them those that are of one kind. Exchanges are paired as diff does;
// where they came in another order they stand alone, and are the same.
func compareItems(ctx context.Context, a, b *transcript.Transcript) ([]couple, error) {
	pairs, err := llm.PairSessions(ctx, a.Session, b.Session, llm.PairOptions{})
	if err != nil {
		return nil, err
	}
	var paired [2]map[int64]*llm.Pair
	for side := range paired {
		paired[side] = map[int64]*llm.Pair{}
	}
	for i := range pairs {
		paired[0][pairs[i].A], paired[1][pairs[i].B] = &pairs[i], &pairs[i]
	}
	same := func(side int, it transcript.Item) bool {
		if it.Exchange == nil {
			return false
		}
		p := paired[side][it.Exchange.Number]
		return p != nil && p.Differences() == 0
	}
	fineA, coarseA, err := itemKeys(ctx, a, paired[0])
	if err != nil {
		return nil, err
	}
	fineB, coarseB, err := itemKeys(ctx, b, paired[1])
	if err != nil {
		return nil, err
	}
	var out []couple
	i, j := 0, 0
	between := func(ai, bj int) {
		from := j
		for k, m := range transcript.Align(coarseA[i:ai], coarseB[from:bj]) {
			if m < 0 {
				out = append(out, couple{a: i + k, b: -1, same: same(0, a.Item(i+k))})
				continue
			}
			for ; j < from+m; j++ {
				out = append(out, couple{a: -1, b: j, same: same(1, b.Item(j))})
			}
			c := couple{a: i + k, b: j}
			if x := a.Item(i + k).Exchange; x != nil {
				c.pair = paired[0][x.Number]
			}
			out = append(out, c)
			j++
		}
		for ; j < bj; j++ {
			out = append(out, couple{a: -1, b: j, same: same(1, b.Item(j))})
		}
		i = ai
	}
	for k, m := range transcript.Align(fineA, fineB) {
		if m < 0 {
			continue
		}
		between(k, m)
		out = append(out, couple{a: k, b: m, same: true})
		i, j = k+1, m+1
	}
	between(len(fineA), len(fineB))
	return out, nil
}

// itemKeys returns for each item what it says and what it is; of an exchange,
// which pair it is of.
func itemKeys(ctx context.Context, t *transcript.Transcript, paired map[int64]*llm.Pair) (fine, coarse []frameKey, err error) {
	for _, it := range t.Items() {
		if it.Kind == transcript.KindEvent {
			fine, coarse = append(fine, eventKey(it.Event)), append(coarse, sum16([]byte("event "+string(it.Event.Kind))))
			continue
		}
		if it.Exchange != nil {
			own := fmt.Sprintf("exchange %d of session %s", it.Exchange.Number, t.Session.UID)
			said, what := own, own
			if p := paired[it.Exchange.Number]; p != nil && p.A > 0 && p.B > 0 {
				what = fmt.Sprintf("exchanges %d and %d", p.A, p.B)
				if p.Differences() == 0 {
					said = what
				}
			}
			fine, coarse = append(fine, sum16([]byte(said))), append(coarse, sum16([]byte(what)))
			continue
		}
		what := it.Kind.String() + "\x00" + it.Name
		if it.Kind == transcript.KindRequest {
			what += "\x00" + it.Label
		}
		c, err := t.Content(ctx, it, maxCompare)
		if err != nil {
			return nil, nil, err
		}
		said := what + fmt.Sprintf("\x00%v\x00", it.Failed)
		if it.Kind == transcript.KindRequest {
			said += requestText(ctx, t, it)
		} else {
			said += c.Text + "\x00" + c.Args + "\x00" + c.Answer
		}
		fine, coarse = append(fine, sum16([]byte(said))), append(coarse, sum16([]byte(what)))
	}
	return fine, coarse, nil
}

// requestText is what a request and its response say less what differs from
// run to run; "" when they cannot be read.
func requestText(ctx context.Context, t *transcript.Transcript, it transcript.Item) string {
	var b strings.Builder
	for _, seq := range []int64{it.Seq, it.Answer} {
		if seq == 0 {
			continue
		}
		if f, err := t.Session.Frame(ctx, seq); err == nil {
			k := keyOf(t.Dialect, f)
			b.Write(k[:])
		}
	}
	return b.String()
}
