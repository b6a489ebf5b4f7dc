package inspect

import (
	"context"
	"fmt"
	"strings"

	"agentrec/internal/transcript"
)

// couple is a row of a comparison: an item of either session, -1 for none.
type couple struct {
	a, b int
	same bool // both say the same
}

// maxCompare is how much of an item's texts is compared, in bytes.
const maxCompare = 64 << 10

// compareItems pairs the items of two sessions: those that say the same first,
// and between them those that are of one kind.
func compareItems(ctx context.Context, a, b *transcript.Transcript) ([]couple, error) {
	fineA, coarseA, err := itemKeys(ctx, a)
	if err != nil {
		return nil, err
	}
	fineB, coarseB, err := itemKeys(ctx, b)
	if err != nil {
		return nil, err
	}
	var out []couple
	i, j := 0, 0
	between := func(ai, bj int) {
		from := j
		for k, m := range transcript.Align(coarseA[i:ai], coarseB[from:bj]) {
			if m < 0 {
				out = append(out, couple{a: i + k, b: -1})
				continue
			}
			for ; j < from+m; j++ {
				out = append(out, couple{a: -1, b: j})
			}
			out = append(out, couple{a: i + k, b: j})
			j++
		}
		for ; j < bj; j++ {
			out = append(out, couple{a: -1, b: j})
		}
		i = ai
	}
	for k, m := range transcript.Align(fineA, fineB) {
		if m < 0 {
			continue
		}
		between(k, m)
		out = append(out, couple{k, m, true})
		i, j = k+1, m+1
	}
	between(len(fineA), len(fineB))
	return out, nil
}

// itemKeys returns for each item what it says and what it is.
func itemKeys(ctx context.Context, t *transcript.Transcript) (fine, coarse []frameKey, err error) {
	for _, it := range t.Items() {
		if it.Kind == transcript.KindEvent {
			fine, coarse = append(fine, eventKey(it.Event)), append(coarse, sum16([]byte("event "+string(it.Event.Kind))))
			continue
		}
		if it.Exchange != nil {
			key := sum16([]byte("exchange " + it.Exchange.Method + " " + it.Exchange.URL))
			fine, coarse = append(fine, key), append(coarse, key)
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
