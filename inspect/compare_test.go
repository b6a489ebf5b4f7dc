package inspect

import (
	"strings"
	"testing"

	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

func TestCompareItems(t *testing.T) {
	changed := append([]step(nil), phiSteps...)
	changed[11].raw = strings.Replace(changed[11].raw, "It is", "Perhaps", 1)
	extra := append(append([]step(nil), phiSteps[:7]...), phiSteps[8:]...) // without the line on stderr
	for name, c := range map[string]struct {
		steps          []step
		left, right, x int // only left, only right, changed
	}{
		"equal": {phiSteps, 0, 0, 0}, "a changed text": {changed, 0, 0, 1}, "a missing line": {extra, 1, 0, 0}, "nothing": {nil, 10, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := derived(t, phiSteps), derived(t, c.steps)
			list, err := compareItems(t.Context(), a, b)
			if err != nil {
				t.Fatal(err)
			}
			left, right, x := 0, 0, 0
			lastA, lastB := -1, -1
			for _, p := range list {
				switch {
				case p.b < 0:
					left++
				case p.a < 0:
					right++
				case !p.same:
					x++
				}
				if p.a >= 0 {
					if p.a != lastA+1 {
						t.Fatalf("item %d after %d at the left", p.a, lastA)
					}
					lastA = p.a
				}
				if p.b >= 0 {
					if p.b != lastB+1 {
						t.Fatalf("item %d after %d at the right", p.b, lastB)
					}
					lastB = p.b
				}
			}
			if lastA != a.Len()-1 || lastB != b.Len()-1 {
				t.Errorf("ends at %d and %d of %d and %d items", lastA, lastB, a.Len(), b.Len())
			}
			if left != c.left || right != c.right || x != c.x {
				t.Errorf("%d only left, %d only right, %d changed; want %d, %d, %d", left, right, x, c.left, c.right, c.x)
			}
		})
	}
}

// TestCompareExchanges: exchanges are paired by what they ask, wherever they went
// and in any order.
func TestCompareExchanges(t *testing.T) {
	elsewhere := phiExchanges()
	for i := range elsewhere {
		elsewhere[i].URL = strings.Replace(elsewhere[i].URL, "https://api.openai.com", "http://127.0.0.1:4000", 1)
	}
	swapped := phiExchanges()
	swapped[0], swapped[1] = swapped[1], swapped[0]
	swapped[0].Number, swapped[1].Number = 1, 2
	swapped[0].After, swapped[1].After = 0, 4
	changed := phiExchanges()
	changed[1].Body = []byte(strings.Replace(string(changed[1].Body), "Say hello", "Say goodbye", 1))
	for name, c := range map[string]struct {
		list        []store.Exchange
		alone, left int    // rows of one side that are the same, and that are not
		changed     string // where the one pair that is changed differs
	}{
		"elsewhere": {list: elsewhere}, "in another order": {list: swapped, alone: 4}, "a changed message": {list: changed, changed: "messages.1.content"},
		"less": {list: phiExchanges()[:4], left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := derivedFrom(t, recordTold(t, phiSteps, phiExchanges())), derivedFrom(t, recordTold(t, phiSteps, c.list))
			list, err := compareItems(t.Context(), a, b)
			if err != nil {
				t.Fatal(err)
			}
			alone, left, where := 0, 0, ""
			for _, p := range list {
				switch {
				case (p.a < 0 || p.b < 0) && p.same:
					alone++
				case p.a < 0 || p.b < 0:
					left++
				case !p.same && p.pair != nil:
					where += p.pair.List[0].Path
				case !p.same:
					t.Errorf("items %d and %d differ", p.a, p.b)
				}
			}
			if alone != c.alone || left != c.left || where != c.changed {
				t.Errorf("%d alone, %d left over, changed at %q", alone, left, where)
			}
		})
	}
}

func derived(t *testing.T, steps []step) *transcript.Transcript {
	t.Helper()
	return derivedFrom(t, record(t, "demo", steps))
}

func derivedFrom(t *testing.T, path string) *transcript.Transcript {
	t.Helper()
	db, err := tape.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s, err := db.Find(t.Context(), "last")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := transcript.Build(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
