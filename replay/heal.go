package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// The database in a workshop, and the file that its owner holds.
const (
	database  = "session.db"
	ownership = "owner"
)

// workshop makes the directory beside a text file in which that is recorded. It
// is its owner's while that lives; what is left in it afterwards was recorded by
// a process that was killed.
func workshop(file string) (string, *tape.Held, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return "", nil, err
	}
	for {
		dir, err := os.MkdirTemp(filepath.Dir(file), workshopName(file)+"*")
		if err != nil {
			return "", nil, err
		}
		owner, err := tape.Hold(filepath.Join(dir, ownership))
		if err != nil || owner != nil {
			return dir, owner, err
		}
		// Somebody took it for one that was left, and removes it.
	}
}

func workshopName(file string) string { return "." + filepath.Base(file) + "-recording-" }

// heal makes a missing text file of what the last recorder that was killed had
// recorded of it, and reports whether it is still missing. Workshops that were
// left are removed.
func heal(ctx context.Context, file string, side io.Writer) (missing bool, err error) {
	if filepath.Ext(file) != textExtension {
		return true, nil // a database takes in what is left beside it
	}
	missing = true
	for _, dir := range workshops(file) {
		owner, err := tape.Hold(filepath.Join(dir, ownership))
		if err != nil {
			return missing, err
		}
		if owner == nil {
			continue // it is being recorded
		}
		if missing {
			missing, err = healFrom(ctx, filepath.Join(dir, database), file, side)
		}
		os.RemoveAll(dir)
		owner.Release()
		if err != nil {
			return missing, fmt.Errorf("recovering %s: %w", file, err)
		}
	}
	return missing, nil
}

// workshops are the directories in which file is or was recorded, the youngest
// first.
func workshops(file string) []string {
	list, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return nil // there is no such directory yet
	}
	type made struct {
		dir string
		at  time.Time
	}
	var found []made
	for _, e := range list {
		if info, err := e.Info(); err == nil && e.IsDir() && strings.HasPrefix(e.Name(), workshopName(file)) {
			found = append(found, made{filepath.Join(filepath.Dir(file), e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(found, func(a, b made) int { return b.at.Compare(a.at) })
	dirs := make([]string, len(found))
	for i := range found {
		dirs[i] = found[i].dir
	}
	return dirs
}

// healFrom makes file of the database of a dead recorder, and reports whether
// there was too little for that.
func healFrom(ctx context.Context, db, file string, side io.Writer) (missing bool, err error) {
	if left, err := os.ReadDir(filepath.Dir(db)); err != nil || len(left) < 2 { // the owner's file is one
		return true, nil
	}
	w, err := tape.OpenWrite(ctx, db) // takes the tape in
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return true, err
	}
	r, err := tape.Open(ctx, db)
	if err != nil {
		return true, err
	}
	s, err := r.Find(ctx, "last")
	closed := r.Close()
	if errors.Is(err, store.ErrNotFound) || err == nil && s.Chains[store.In].Frames == 0 {
		fmt.Fprintf(side, "agentrec: the process that recorded %s was killed before the client had sent anything; recording it again\n", file)
		return true, closed
	}
	if err = errors.Join(err, closed); err != nil {
		return true, err
	}
	if err := exportText(ctx, db, file); err != nil {
		return true, err
	}
	fmt.Fprintf(side, "agentrec: the process that recorded %s was killed; it is now made of the %d frames that were recorded until then. "+
		"If its client ends agents so, all is well; if not, remove the file and record it again\n", file, s.Count())
	return false, nil
}
