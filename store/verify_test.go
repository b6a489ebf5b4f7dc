package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// proven makes a database with one session of frames in chunks and rows and a
// giant; closed or not.
func proven(t *testing.T, closed bool) (*DB, *Writer) {
	t.Helper()
	db := newDB(t)
	rng := rand.New(rand.NewPCG(10, 10))
	w := begin(t, db, Start{Unredacted: true})
	for i := range 4000 {
		raw := make([]byte, 400)
		for j := range raw {
			raw[j] = 'a' + byte(rng.IntN(26))
		}
		w.Frame(Stream(i%3), 0, raw, LF)
		if i == 2500 {
			for k := range 6 {
				w.part(Out, bytes.Repeat(raw, 700)[k:k+1<<18])
				w.cutPart(w.giants[Out])
			}
			w.endParts(Out, 0, LF)
		}
		if i%1000 == 0 {
			commit(t, w, "")
		}
	}
	commit(t, w, "")
	if closed {
		closeProven(t, w, End{State: Closed})
	}
	return db, w
}

func closeProven(t *testing.T, w *Writer, e End) {
	t.Helper()
	for i := range e.Wire {
		e.Wire[i] = w.chains[i].Bytes
	}
	if err := w.Close(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func verify(t *testing.T, db *DB) *Integrity {
	t.Helper()
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Verify(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestVerifySound(t *testing.T) {
	db, w := proven(t, false)
	if got := verify(t, db); got.Verdict != StillRecording || got.Frames != 4001 {
		t.Errorf("while recording: %+v", got)
	}
	closeProven(t, w, End{State: Closed})
	if got := verify(t, db); got.Verdict != Whole || got.Text != "whole, closed cleanly, 4001 frames" {
		t.Errorf("closed: %+v", got)
	}
	if got := verify(t, openRead(t, db.Path())); got.Verdict != Whole {
		t.Errorf("read-only: %+v", got)
	}
	text := export(t, w.Session())
	list, err := temp(t).ReadText(t.Context(), bytes.NewReader(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	if got := verify(t, list[0].db); got.Verdict != Whole {
		t.Errorf("imported: %+v", got)
	}
}

// TestVerifySaysWhatWasEdited, as far as the proofs tell: in a file edited by hand,
// and in a session that was rewritten.
func TestVerifySaysWhatWasEdited(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{})
	for _, text := range []string{"one", "two", "three"} {
		w.Frame(In, 0, []byte(text), LF)
		w.Frame(Out, 0, []byte(text), LF)
	}
	closeWriter(t, w)
	text := string(export(t, w.Session()))
	for _, c := range []struct{ from, to, want string }{
		{`"out:text", 0, "two"`, `"out:text", 0, "2"`, ": frames of out differ"},
		{"[\"in:text\", 0, \"three\"]\n", "", ": in has 2 frames, and had 3"},
		{`"one"`, `"1"`, ": frames of in differ, frames of out differ"},
	} {
		edited := strings.ReplaceAll(text, c.from, c.to)
		if edited == text {
			t.Fatalf("there is no %s in\n%s", c.from, text)
		}
		list, err := temp(t).ReadText(t.Context(), strings.NewReader(edited), "x")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Verify(t.Context(), list[0]); err != nil || got.Verdict != IsEdited || got.Text != "edited after it was recorded"+c.want {
			t.Errorf("%+v, %v, want %s", got, err, c.want)
		}
	}
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Rewrite(t.Context(), s, Edit{Frame: func(f Frame) ([]byte, error) {
		if f.Stream == Out {
			return []byte("x"), nil
		}
		return f.Raw, nil
	}}); err != nil {
		t.Fatal(err)
	}
	if got := verify(t, db); got.Verdict != IsEdited || got.Text != "edited after it was recorded: frames of out differ" {
		t.Errorf("rewritten: %+v", got)
	}
}

func TestVerifyCutAndLost(t *testing.T) {
	db, w := proven(t, false)
	closeProven(t, w, End{State: Cut, Reason: "the tape was gone"})
	if got := verify(t, db); got.Verdict != IsCut || got.Seq != 4001 || got.Text != "ends after frame 4001: the tape was gone" {
		t.Errorf("cut: %+v", got)
	}
	db, w = proven(t, false)
	w.Event(Event{Kind: EventLost, Stream: Err, Bytes: 12, Detail: "disk full"})
	w.Frame(In, 0, nil, LF)
	e := End{State: Closed}
	for i := range e.Wire {
		e.Wire[i] = w.chains[i].Bytes
	}
	e.Wire[Err] += 12
	if err := w.Close(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if got := verify(t, db); got.Verdict != IsCut || got.Seq != 4001 || len(got.Lost) != 1 || got.Text != "12 bytes of err were not recorded after frame 4001: disk full" {
		t.Errorf("lost: %+v", got)
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	for _, c := range []struct {
		stmt     string
		closed   bool
		from, to int64
		says     string
	}{
		{"UPDATE chunk SET payload = CAST(substr(payload, 1, 1000) || x'00' || substr(payload, 1002) AS BLOB) WHERE id & 0xffffffffff = 657", true, 657, 1312, "damaged"},
		{"UPDATE chunk SET payload = (SELECT payload FROM chunk WHERE id & 0xffffffffff = 1) WHERE id & 0xffffffffff = 657", true, 657, 1312, "do not fit their proof, stream in, stream out, stream err"},
		{"UPDATE chunk SET columns = x'00' WHERE id & 0xffffffffff = 657", true, 657, 1312, "damaged"},
		{"UPDATE chunk SET chains = zeroblob(144) WHERE id & 0xffffffffff = 657", true, 657, 1312, "do not fit their proof"},
		{"UPDATE chunk SET chains = x'01' WHERE id & 0xffffffffff = 657", true, 657, 1312, "cannot be read"},
		{"UPDATE chunk SET last = last - 1 WHERE id & 0xffffffffff = 657", true, 657, 1311, "damaged"},
		{"UPDATE chunk SET size = 99999999 WHERE id & 0xffffffffff = 657", true, 657, 1312, "damaged"},
		{"DELETE FROM chunk WHERE id & 0xffffffffff = 657", true, 657, 1312, "frames 657 to 1312 are missing"},
		{"DELETE FROM chunk WHERE id & 0xffffffffff > 3000", true, 3282, 4001, "frames 3282 to 4001 are missing"},
		{"UPDATE session SET chains = CAST(zeroblob(48) || substr(chains, 49) AS BLOB)", true, 0, 0, "do not fit the session's proof, stream in"},
		{"UPDATE session SET chains = CAST(substr(chains, 1, 20) || x'00' || substr(chains, 22) AS BLOB)", true, 0, 0, "do not fit the session's proof, stream in"},
		{"UPDATE session SET wire_out = wire_out + 1", true, 0, 0, "out: the recorder counted"},
		{"DELETE FROM frame WHERE id & 0xffffffffff = 3990", false, 3990, 3990, "frames 3990 to 3990 are missing"},
		{"DELETE FROM frame WHERE id & 0xffffffffff > 3990", false, 3991, 4001, "frames 3991 to 4001 are missing"},
		{"DELETE FROM frame", false, 3938, 4001, "are missing"},
		{"UPDATE frame SET raw = zeroblob(400) WHERE id & 0xffffffffff = 3990", false, 0, 0, "do not fit the session's proof"},
		{"UPDATE frame SET kind = 77 WHERE id & 0xffffffffff = 3990", false, 3990, 3990, "damaged"},
		{"UPDATE frame SET size = 7 WHERE id & 0xffffffffff = 3990", false, 3990, 3990, "damaged"},
		{"UPDATE part SET data = substr(data, 1, 100) WHERE n = 3", true, 2502, 2502, "damaged"},
		{"DELETE FROM part WHERE n = 3", true, 2502, 2502, "part 3 is missing"},
		{"DELETE FROM giant", true, 2502, 2502, "damaged"},
		{"UPDATE part SET data = (SELECT data FROM part WHERE n = 4), size = (SELECT size FROM part WHERE n = 4) WHERE n = 3", true, 1969, 2625, "do not fit their proof, stream out"},
	} {
		db, _ := proven(t, c.closed)
		if r, err := db.write.Exec(c.stmt); err != nil {
			t.Fatal(err)
		} else if n, _ := r.RowsAffected(); n == 0 {
			t.Fatalf("%s changes nothing", c.stmt)
		}
		got := verify(t, db)
		if got.Verdict != Damaged || got.Seq != c.from || got.Flaws[0].To != c.to || !strings.Contains(got.Text, c.says) {
			t.Errorf("%s: %+v; want frames %d to %d, %q", c.stmt, got, c.from, c.to, c.says)
		}
		if len(got.Flaws) > 2 {
			t.Errorf("%s: one damage makes %d flaws", c.stmt, len(got.Flaws))
		}
		// Readers meet an error, not a panic nor other bytes.
		s, err := db.Find(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range s.Frames(t.Context(), 0, 0) {
			if err != nil && !strings.Contains(fmt.Sprint(err), "damaged") {
				t.Errorf("%s: reading says %v", c.stmt, err)
			}
		}
	}
}
