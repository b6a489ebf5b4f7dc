package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Each kind of damage to an exchange is found, and says which one it is.
func TestVerifyExchanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	whole := newDB(t)
	w := begin(t, whole, Start{})
	w.Frame(In, 0, []byte("x"), LF)
	history := ""
	for i := range 6 {
		history += strings.Repeat(fmt.Sprintf("%x ", rng.Uint64()), 200)
		x := exchange(`{"all":"`+history+`"}`, strings.Repeat("data: {}\n\n", 3))
		if i == 4 {
			x.Omitted = 9
		}
		w.Exchange(x)
	}
	closeWriter(t, w)
	verify := func(db *DB) *Integrity {
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
	if got := verify(whole); got.Verdict != IsCut || got.Text != "9 bytes of exchange 5 were not recorded" || got.Exchanges != 6 {
		t.Errorf("as it was: %+v", got)
	}
	id := w.id<<seqBits | 3
	for _, c := range []struct {
		stmt  string
		which int64
		says  string
	}{
		{"UPDATE exchange SET url = 'http://other/' WHERE id = ?", 3, "not as recorded"},
		{"UPDATE exchange SET status = 500 WHERE id = ?", 3, "not as recorded"},
		{"UPDATE exchange SET ended = ended + 1 WHERE id = ?", 3, "not as recorded"},
		{"UPDATE exchange SET error = 'none' WHERE id = ?", 3, "not as recorded"},
		{"UPDATE exchange SET hash = zeroblob(32) WHERE id = ?", 3, "not as recorded"},
		{"UPDATE exchange SET hash = x'' WHERE id = ?", 3, "cannot be read"},
		{"UPDATE exchange SET fields = zeroblob(20) WHERE id = ?", 3, "cannot be read"},
		{"UPDATE exchange SET pieces = x'00' WHERE id = ?", 3, "cannot be read"},
		{"UPDATE exchange SET answer = answer + 1 WHERE id = ?", 3, "cannot be read"},
		{"UPDATE exchange SET base = 5 WHERE id = ?", 3, "cannot be read"},
		{"UPDATE exchange SET body = 1 << 40 WHERE id = ?", 3, "cannot be read"},
		{"DELETE FROM exchange WHERE id = ?", 3, "is missing"},
		{"DELETE FROM exchange WHERE id = ? + 3", 6, "is missing"},
		{"DELETE FROM body WHERE exchange = ? & 7 AND side = 1", 3, "cannot be read"},
		{"UPDATE body SET data = zeroblob(9) WHERE exchange = ? & 7 AND side = 0", 3, "cannot be read"},
		{"UPDATE body SET n = n + 1 WHERE exchange = ? & 7 AND side = 1", 3, "cannot be read"},
		{"INSERT INTO exchange SELECT id + 4, after, time, route, proto, method, url, status, answered, ended, state, error, attempt, omitted, fields, pieces, base, body, answer, request, hash FROM exchange WHERE id = ?", 7, ""},
		{"UPDATE exchange SET (url, status, ended, hash) = (SELECT url, status, ended, hash FROM exchange AS o WHERE o.id = exchange.id - 1) WHERE id = ?", 3, ""},
	} {
		db := newDB(t)
		s, err := whole.Find(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Copy(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if r, err := db.write.Exec(c.stmt, id); err != nil {
			t.Fatal(err)
		} else if n, _ := r.RowsAffected(); n == 0 {
			t.Fatalf("%s changes nothing", c.stmt)
		}
		got := verify(db)
		if got.Verdict != Damaged || got.Flaws[0].Exchange != c.which || !strings.Contains(got.Text, fmt.Sprintf("exchange %d ", c.which)) || !strings.Contains(got.Text, c.says) {
			t.Errorf("after %s:\n%+v", c.stmt, got)
		}
	}
	// A row that is whole but another one than was recorded.
	db := newDB(t)
	s, _ := whole.Find(t.Context(), "")
	if _, err := db.Copy(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	x, err := s.Exchange(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	x.Status = 201
	hash := x.digest()
	if _, err := db.write.Exec("UPDATE exchange SET status = 201, hash = ? WHERE id = ?", hash[:], id-1); err != nil {
		t.Fatal(err)
	}
	if got := verify(db); got.Verdict != Damaged || got.Text != "the exchanges do not fit the session's proof" {
		t.Errorf("after an exchange was replaced: %+v", got)
	}
}

// A hostile row unpacks to no more than it says, and what it says is bounded.
func TestExchangesOfAHostileFile(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{})
	w.Exchange(exchange(strings.Repeat("long and longer ", 200), "answer"))
	closeWriter(t, w)
	bomb := db.packer.pack(nil, make([]byte, 200<<20))
	for _, stmt := range []string{
		"UPDATE body SET data = ?", "UPDATE body SET data = ?, size = 1 << 40", "UPDATE exchange SET fields = ?", "UPDATE exchange SET pieces = ?",
	} {
		copied := newDB(t)
		if _, err := copied.Copy(t.Context(), w.Session()); err != nil {
			t.Fatal(err)
		}
		if _, err := copied.write.Exec(stmt, bomb); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(stmt, "size =") {
			if _, err := copied.write.Exec("UPDATE exchange SET body = 1 << 40, answer = 1 << 40"); err != nil {
				t.Fatal(err)
			}
		}
		s, err := copied.Find(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Verify(t.Context(), s); err != nil || got.Verdict != Damaged {
			t.Errorf("%s: %+v, %v", stmt, got, err)
		}
	}
	// Bases that lead round in a ring, or are too many.
	w = begin(t, db, Start{})
	for range mostBases + 4 {
		w.Exchange(exchange(strings.Repeat("long and longer ", 200), "answer"))
	}
	closeWriter(t, w)
	for _, stmt := range []string{"UPDATE exchange SET base = (id & 255) WHERE id >> 40 = ?", "UPDATE exchange SET base = (id & 255) - 1 WHERE id >> 40 = ?", "UPDATE exchange SET base = -1 WHERE id >> 40 = ?"} {
		if _, err := db.write.Exec(stmt, w.id); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Session().Exchange(t.Context(), mostBases+3); !isDamage(err) {
			t.Errorf("%s: %v", stmt, err)
		}
	}
}
