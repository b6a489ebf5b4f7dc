package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agentrec/store"
)

// What is searched for in a frame is found wherever it stands: over the end of
// a wrapped line, in a folded value, behind what a row shows, over two rows of
// bytes.
func TestFindInFrame(t *testing.T) {
	words := make([]string, 0, 400)
	for i := range 400 {
		words = append(words, fmt.Sprintf("word%d", i))
	}
	long := strings.Join(words, " ")
	many := map[string]any{"text": long, "deep": map[string]any{"er": map[string]any{"needle": "in the Haystack"}}}
	for i := range openNodes {
		many[fmt.Sprintf("k%03d", i)] = map[string]any{"v": map[string]any{"n": i}}
	}
	raw, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	d := drive(t, record(t, "demo", []step{{store.Out, string(raw)}}), 80, 24)
	d.settle()
	d.keys("Enter").settle()
	d.keys("3", "Enter").wants("deep")
	d.keys("/").types("haystack").wants(`needle: in the Haystack`, "deep.er.needle")
	d.keys("/").types("WORD390").wants("  text") // cut on its row
	if !strings.HasSuffix(d.rows()[22], "tree") {
		t.Error(d.rows()[22])
	}
	d.keys("/").types("nothing like this").wants("was not found")
	d.keys("2", "/").types("word9 word10 word11 word12 word13 word14").wants("word9 word10")
	d.keys("3", "/").types("in the haystack")
	at := strings.Index(string(raw), "in the Haystack") / 16
	if d.top().pane.sel != at {
		t.Errorf("row %d, want %d", d.top().pane.sel, at)
	}
	d.keys("n")
	if d.top().pane.sel != at {
		t.Errorf("going round led to row %d", d.top().pane.sel)
	}
}

// A search through bytes finds what a naive one does.
func TestFindBytes(t *testing.T) {
	text := []byte(strings.Repeat("abcdefg Needle hij", 3_000_000/18))
	h := bytesRows(text)
	var rows []int
	for i := 0; ; {
		k := bytes.Index(text[i:], []byte("Needle"))
		if k < 0 {
			break
		}
		if row := (i + k) / 16; len(rows) == 0 || rows[len(rows)-1] != row {
			rows = append(rows, row)
		}
		i += k + 1
	}
	for _, at := range []int{0, 1, 65_535, 65_536, 65_537, len(text) / 16} {
		next, found := slices.BinarySearch(rows, at)
		if found {
			next++
		}
		before, _ := slices.BinarySearch(rows, at)
		for back, want := range map[bool]int{false: rows[next%len(rows)], true: rows[(before-1+len(rows))%len(rows)]} {
			if got, err := h.find("needle", at, back); got != want || err != nil {
				t.Errorf("from %d, back %v: row %d, %v; want %d", at, back, got, err, want)
			}
		}
	}
	if got, err := h.find("nowhere", 0, false); got != -1 || err != nil {
		t.Error(got, err)
	}
}

// Left folds what is open, then goes to what holds it, and at last back.
func TestLeftFoldsFirst(t *testing.T) {
	d := drive(t, record(t, "demo", phiSteps), 80, 24)
	d.settle()
	d.keys("Enter").settle()
	d.keys("c", "Right", "Right").wants("city: Oslo").keys("Left").wants("timeline", `{"city":"Oslo"}`).keys("Left").wants("1 session")
	d.keys("Enter").settle()
	d.keys("c", "Enter", "G").wants("args.city").keys("Left").wants("args  tree").keys("Left").wants("▸ args", "args  tree").keys("Right").wants("▾ args").keys("Right").wants("args.city")
	d.keys("Left", "Left", "Left", "Left").wants("timeline")
}

// A line that is longer than the screen is read line by line.
func TestLongLinesAreRead(t *testing.T) {
	d := drive(t, record(t, "demo", []step{{store.Err, strings.Repeat("a line of words ", 1000)}, {store.Err, "the end"}}), 80, 24)
	d.settle()
	d.keys("Enter", "3", "Enter").wants("not JSON, text").keys("j", "j", "j")
	if p := d.top().pane; p.off != 3 || p.sel != 0 {
		t.Errorf("row %d, line %d", p.sel, p.off)
	}
	var paged string
	d.external = func(_ []string, input []byte) error {
		paged = string(input)
		return nil
	}
	if d.keys("G", "3"); d.top().pane.sel != 0 {
		t.Errorf("the bytes begin at row %d", d.top().pane.sel)
	}
	d.keys("Esc", "1", "G", "k", "%").wants("has no partner").keys("g", "j", "v")
	if strings.Count(paged, "a line of words") != 1000 {
		t.Errorf("the pager got %d bytes", len(paged))
	}
}

// A list of hits shows what was hit, wherever in its frame that stands.
func TestHitsShowWhatWasHit(t *testing.T) {
	far := `{"type":"run","session_id":"demo","query":"` + strings.Repeat("so many words ", 200) + `the Needle in it"}`
	path := record(t, "first", append(slices.Clone(phiSteps), step{store.In, far}))
	recordInto(t, path, "second", phiSteps[:1])
	d := drive(t, path, 80, 24)
	d.settle()
	for _, expr := range []string{"needle", `"Needle in"`, "/the ne+dle/i"} {
		d.keys("/").types(expr).settle()
		d.wants("1 hit", "14 run", "words the Needle in it").keys("Esc")
	}
	d.keys("/").types("label = run").settle()
	d.wants("3 hits", `4 run                  {"type":"run"`).keys("Esc")
	// What cannot be read does not take the place of what was searched for.
	d.keys("Enter").settle()
	d.keys("Esc", "j", "Enter").settle()
	d.keys("/").types("oslo").settle()
	d.keys("/").types("label =")
	d.keys("n").settle()
	d.wants("hit ")
	if d.sought != "oslo" {
		t.Errorf("searches for %q", d.sought)
	}
	d.keys("Enter")
	if d.top().name != "frame" || d.top().pane.find != "oslo" {
		t.Errorf("%s marks %q", d.top().name, d.top().pane.find)
	}
}
