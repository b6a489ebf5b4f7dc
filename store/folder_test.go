package store

import (
	"maps"
	"strings"
	"testing"
)

// Folders go wherever a session goes: into text and back, into another
// database, through a rewrite.
func TestFolders(t *testing.T) {
	folders := map[string]string{HomeFolder: "/home/ann", TempFolder: "/tmp"}
	db := newDB(t)
	w := begin(t, db, Start{Name: "a", Folders: folders})
	w.Frame(In, 0, []byte("x"), LF)
	closeWriter(t, w)
	check := func(what string, s *Session, want map[string]string) {
		t.Helper()
		if !maps.Equal(s.Folders, want) {
			t.Errorf("%s: %v, want %v", what, s.Folders, want)
		}
	}
	s, err := db.Find(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	check("found", s, folders)

	text := export(t, s)
	head, _, _ := strings.Cut(string(text), "\n")
	if want := `"folders":{"home":"/home/ann","temp":"/tmp"}`; !strings.Contains(head, want) {
		t.Errorf("the header lacks %s: %s", want, head)
	}
	_, list := again(t, text)
	check("from text", list, folders)

	into := newDB(t)
	copies, err := into.Copy(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	check("copied", copies[0], folders)

	if _, err := db.Rewrite(t.Context(), s, Edit{Session: func(s *Session) error { s.Folders[HomeFolder] = "/home/x"; return nil }}); err != nil {
		t.Fatal(err)
	}
	if s, err = db.Find(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	check("rewritten", s, map[string]string{HomeFolder: "/home/x", TempFolder: "/tmp"})
	if !s.Edited {
		t.Error("another folder is no edit")
	}

	old, err := openRead(t, version1(t)).Find(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	check("of an older schema", old, nil)
}
