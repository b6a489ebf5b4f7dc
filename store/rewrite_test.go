package store

import (
	"bytes"
	"testing"
)

// TestRewriteTheSame: what only changes its form is not edited, and its proof
// fits the new form.
func TestRewriteTheSame(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{Name: "n"})
	w.Frame(Out, 0, []byte(`{"t":"long form"}`), LF)
	closeWriter(t, w)
	s := w.Session()
	shorter := Edit{Same: true, Frame: func(f Frame) ([]byte, error) {
		return bytes.Replace(f.Raw, []byte("long form"), []byte("short"), 1), nil
	}}
	if n, err := db.Rewrite(t.Context(), s, shorter); n.Frames != 1 || err != nil {
		t.Fatalf("%d frames changed, %v", n, err)
	}
	if s.Edited || s.Original != nil {
		t.Errorf("the session counts as edited: %+v", s)
	}
	if got, err := Verify(t.Context(), s); err != nil || got.Verdict != Whole {
		t.Errorf("it verifies as %+v, %v", got, err)
	}
}
