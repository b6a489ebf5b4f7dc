package inspect

import (
	"bytes"
	"compress/gzip"
	"maps"
	"slices"
	"testing"

	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// A text is found in exchanges as their wire is read, whether a filter or a
// search looks for it: joined over the pieces of a stream, in a body that was
// packed.
func TestFilterReadsExchanges(t *testing.T) {
	list := phiExchanges()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(chatRequest(`{"role":"user","content":"A packed question"}`))); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	last := &list[4]
	last.Body = packed.Bytes()
	last.Header = append(last.Header, store.Field{Name: "Content-Encoding", Value: "gzip"})
	path := recordTold(t, phiSteps, list)
	db, err := tape.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := transcript.Open(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		expr   string
		filter []int64
		search []int64 // of a request only what is new in it
	}{
		{`"Hello, ready."`, []int64{2, 3, 4}, []int64{2}},
		{`"packed question"`, []int64{5}, []int64{5}},
		{`.model = "gpt-5"`, []int64{2, 3, 4, 5}, []int64{2, 3, 4, 5}},
		{`"It is 4 °C."`, []int64{5}, []int64{5}},
		{`"/v1/models"`, []int64{1}, []int64{1}},
		{`exchange and not "no such text"`, []int64{1, 2, 3, 4, 5}, []int64{1, 2, 3, 4, 5}},
	} {
		f, err := transcript.ParseFilter(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		chosen, err := chosenExchanges(t.Context(), tr, f)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(chosen)); !slices.Equal(got, c.filter) {
			t.Errorf("%s chooses %v, want %v", c.expr, got, c.filter)
		}
		var found []int64
		if err := searchExchanges(t.Context(), tr, f, func(s spot) { found = append(found, s.exchange) }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(found, c.search) {
			t.Errorf("%s finds %v, want %v", c.expr, found, c.search)
		}
	}
}
