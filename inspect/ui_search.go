package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentrec/internal/transcript"
)

// hunt is a search through a session: what for, and what it has found. It runs
// behind the views and tells them as it goes.
type hunt struct {
	expr   string
	filter *transcript.Filter
	hits   []spot // in order
	at     int64  // the last frame looked at
	// the last frame of which is known what it holds, while that is found out
	indexed int64
	done    bool
	cancel  context.CancelFunc
	want    func() bool // tries to move to a hit; true when it has
}

// reportEvery is how often a search tells the views what it has found.
const reportEvery = 100 * time.Millisecond

// huntFilter reads what was typed to search or filter for: the filter language,
// or just a text, upper and lower case the same, when it is plain words that
// mean nothing in the language. A word that is a label means the label only
// when labels is set: who filters thinks of kinds, who searches of text.
func huntFilter(expr string, t *transcript.Transcript, labels bool) (*transcript.Filter, error) {
	if !labels {
		t = nil
	}
	plainWords := !strings.ContainsAny(expr, `"=<>~:#()`) && !strings.HasPrefix(expr, "/")
	f, err := transcript.ParseFilter(expr)
	if plainWords && (err != nil || !isKnownWords(expr, t)) {
		return transcript.ParseFilter("/" + regexpQuote(expr) + "/i")
	}
	return f, err
}

// isKnownWords reports whether every word means something in the language, or
// is a label of t.
func isKnownWords(expr string, t *transcript.Transcript) bool {
	known := transcript.CompleteFilter("", t)
	known = append(known, "and", "or", "not")
	words := strings.Fields(expr)
	for _, w := range words {
		if !slices.Contains(known, w) && !strings.ContainsAny(w, "*/") {
			return false
		}
	}
	return len(words) > 0
}

// regexpQuote writes text so that it matches itself between slashes.
func regexpQuote(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(`\.+*?()|[]{}^$/`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// search begins a hunt for expr; go to its first hit after the selected frame.
func (su *sessionUI) search(expr string, back bool) error {
	if su.story.t == nil {
		return errors.New("the session is still being read")
	}
	if su.hunt != nil && su.hunt.expr == expr {
		return su.nextHit(back)
	}
	f, err := huntFilter(expr, su.story.t, false)
	if err != nil {
		return err
	}
	su.stopHunt()
	ctx, cancel := context.WithCancel(su.story.ctx)
	h := &hunt{expr: expr, filter: f, cancel: cancel}
	su.hunt = h
	h.want = func() bool { return su.toHit(h, back) }
	su.story.busy++
	t := su.story.t
	su.u.workers.Go(func() {
		var found []spot
		at := time.Now()
		report := func(seq int64, done bool, err error) {
			news := found
			found = nil
			at = time.Now()
			su.u.post(func() {
				h.hits, h.at, h.done, h.indexed = append(h.hits, news...), seq, done, 0
				if done {
					slices.SortFunc(h.hits, compareSpots) // exchanges come last
					su.story.busy--
				}
				if ctx.Err() != nil {
					return
				}
				su.u.fail(err)
				if h.want != nil && h.want() {
					h.want = nil
				}
			})
		}
		last := int64(0)
		err := su.story.index(ctx, t, f, func(seq int64) {
			if time.Since(at) >= reportEvery {
				at = time.Now()
				su.u.post(func() { h.indexed = seq })
			}
		})
		if err == nil {
			err = t.Search(ctx, f, func(seq int64) bool { found = append(found, spot{seq: seq}); return true }, func(seq int64) {
				last = seq
				if time.Since(at) >= reportEvery {
					report(seq, false, nil)
				}
			})
		}
		if err == nil {
			err = searchExchanges(ctx, t, f, func(s spot) { found = append(found, s) })
		}
		report(last, true, err)
	})
	return nil
}

// stopHunt ends the search that runs, if any.
func (su *sessionUI) stopHunt() {
	if su.hunt != nil {
		su.hunt.cancel()
		su.hunt = nil
	}
}

// toHit moves to the hit after (before, when back) the selected frame, going
// round at the end, and reports whether it could be decided where that is.
func (su *sessionUI) toHit(h *hunt, back bool) bool {
	i, found := slices.BinarySearchFunc(h.hits, su.spot(), compareSpots)
	switch {
	case back:
		i--
	case found:
		i++
	}
	switch {
	case i >= 0 && i < len(h.hits) && (!back || h.done || h.at >= su.seq):
	case !h.done:
		return false
	case len(h.hits) == 0:
		su.u.fail(notFound(h.expr))
		return true
	case back:
		i = len(h.hits) - 1
	default:
		i = 0
	}
	su.goToSpot(h.hits[i])
	return true
}

// nextHit goes to the next hit of the search that was begun.
func (su *sessionUI) nextHit(back bool) error {
	h := su.hunt
	if h == nil {
		return errors.New("nothing was searched for; / begins")
	}
	if !su.toHit(h, back) {
		h.want = func() bool { return su.toHit(h, back) }
	}
	return nil
}

// huntStatus says how a search stands: "3/12 of EXPR".
func (su *sessionUI) huntStatus() line {
	h := su.hunt
	if h == nil {
		return nil
	}
	n, found := slices.BinarySearchFunc(h.hits, su.spot(), compareSpots)
	text := count(len(h.hits), "hit")
	if found {
		text = fmt.Sprintf("hit %d of %d", n+1, len(h.hits))
	}
	if h.indexed > 0 {
		return line{{fmt.Sprintf("indexing the text, %d%% ", 100*h.indexed/max(su.story.look.Session.Count(), 1)), toneMark}, {" ", tonePlain}}
	}
	if !h.done {
		text += fmt.Sprintf(", %d%%", 100*h.at/max(su.story.look.Session.Count(), 1))
	}
	return line{{text + " ", toneMark}, {" ", tonePlain}}
}

// filterRows lets the timeline show only what a filter matches; "" shows all.
func (su *sessionUI) filterRows(expr string) error {
	tl := su.line
	at := su.seq
	if strings.TrimSpace(expr) == "" {
		tl.filter, tl.shown = "", nil
		su.goTo(at)
		return nil
	}
	f, err := huntFilter(expr, su.story.t, true)
	if err != nil {
		return err
	}
	t := su.story.t
	ctx := su.story.ctx
	su.story.busy++
	su.u.say(toneDim, "filtering...")
	su.u.workers.Go(func() {
		var chosen []bool
		err := su.story.index(ctx, t, f, func(int64) {})
		if err == nil {
			chosen, err = itemsOf(ctx, t, f)
		}
		su.u.post(func() {
			su.story.busy--
			if ctx.Err() != nil {
				return
			}
			su.u.message = nil
			if err != nil {
				su.u.fail(err)
				return
			}
			tl.filter, tl.compiled = expr, f
			tl.shown = []int{}
			for i, in := range chosen {
				if in {
					tl.shown = append(tl.shown, i)
				}
			}
			su.goTo(at)
		})
	})
	return nil
}

// growFilter takes new items into a filtered timeline.
func (su *sessionUI) growFilter(from int) {
	tl := su.line
	if tl == nil || tl.shown == nil {
		return
	}
	m := tl.compiled.On(su.story.t)
	for i := from; i < su.story.t.Len(); i++ {
		it := su.story.t.Item(i)
		in := false
		if it.Event != nil {
			in = m.MatchEvent(*it.Event)
		} else if it.Exchange != nil {
			var err error
			in, err = matchesExchange(su.story.ctx, su.story.t, m, it)
			su.u.fail(err)
		} else if f, err := su.story.look.Session.Frame(su.story.ctx, it.Seq); err == nil {
			in = m.Match(f)
		}
		if in {
			tl.shown = append(tl.shown, i)
		}
	}
}
