package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentrec/internal/transcript"
)

// hunt is a search through a session: what for, and what it has found. It runs
// behind the views and tells them as it goes; of a session that grows it goes on
// where it was.
type hunt struct {
	expr   string
	shown  string // expr as it was typed
	filter *transcript.Filter
	hits   []spot // in order
	at     int64  // the last frame looked at
	// the last frame of which is known what it holds, while that is found out
	indexed   int64
	begun     bool
	done      bool
	frames    int64 // how many of the session have been searched
	exchanges int   // likewise
	ctx       context.Context
	cancel    context.CancelFunc
	want      func() bool // tries to move to a hit; true when it has
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

// search begins a hunt for expr, or goes on with it, and goes to its next hit
// after the selected frame.
func (su *sessionUI) search(expr string, back bool) error { return su.searchFor(expr, expr, back) }

// searchFor is search for an expression of which only a part was typed.
func (su *sessionUI) searchFor(expr, shown string, back bool) error {
	if su.story.t == nil {
		return su.unread()
	}
	h := su.hunt
	if h == nil || h.expr != expr {
		f, err := huntFilter(expr, su.story.t, false)
		if err != nil {
			return err
		}
		su.stopHunt()
		h = &hunt{expr: expr, shown: shown, filter: f}
		h.ctx, h.cancel = context.WithCancel(su.story.ctx)
		su.hunt = h
	}
	h.want = func() bool { return su.toHit(h, back) }
	t := su.story.t
	if !h.begun || h.done && (h.frames < int64(len(t.Entries)) || h.exchanges != len(t.Exchanges)) {
		su.goOn(h)
	}
	if h.want() {
		h.want = nil
	}
	return nil
}

// goOn searches what the hunt has not seen.
func (su *sessionUI) goOn(h *hunt) {
	t, f, ctx := su.story.t, h.filter, h.ctx
	from, all := h.frames+1, int64(len(t.Entries))
	h.begun, h.done = true, false
	su.story.busy++
	su.u.workers.Go(func() {
		var found []spot
		at := time.Now()
		report := func(seq int64, done bool, err error) {
			news := found
			found = nil
			at = time.Now()
			su.u.post(func() {
				if done { // exchanges come last, and all of them
					h.hits = slices.DeleteFunc(h.hits, func(s spot) bool { return s.exchange > 0 })
				}
				h.hits, h.at, h.done, h.indexed = append(h.hits, news...), seq, done, 0
				if done {
					slices.SortFunc(h.hits, compareSpots)
					su.story.busy--
					h.frames, h.exchanges = all, len(t.Exchanges)
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
			err = t.SearchFrom(ctx, f, from, func(seq int64) bool { found = append(found, spot{seq: seq}); return true }, func(seq int64) {
				last = seq
				if time.Since(at) >= reportEvery {
					report(seq, false, nil)
				}
			})
		}
		if err == nil {
			last = all
			err = searchExchanges(ctx, t, f, func(s spot) { found = append(found, s) })
		}
		report(last, true, err)
	})
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
		su.u.fail(notFound(h.shown))
		return true
	case back:
		i = len(h.hits) - 1
	default:
		i = 0
	}
	su.goToSpot(h.hits[i])
	return true
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
