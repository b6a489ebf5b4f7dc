package inspect

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// manageOptions is what the commands are asked for that change what is known of
// sessions, or delete them.
type manageOptions struct {
	DB       string
	Sessions []string // that are meant: number, name, id or last
	Name     string   // of rename
	Set      []string // of tag: KEY=VALUE
	Remove   []string // of tag: KEY
	Keep     int      // of prune: how many of the newest stay
	Older    age      // of prune: those that began later stay
	DryRun   bool
	JSON     bool
	Now      time.Time
	Out      io.Writer
	Err      io.Writer
}

// deleted is a session that was deleted, or would be. Its JSON names are
// documented in the help of rm and prune.
type deleted struct {
	ID      int64     `json:"id"`
	UID     string    `json:"uid"`
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	Frames  int64     `json:"frames"`
	Bytes   int64     `json:"bytes"`
	Deleted bool      `json:"deleted"`

	Exchanges int64 `json:"exchanges"`
}

// manage opens the database and calls fn with the sessions that are meant.
func manage(ctx context.Context, o manageOptions, fn func(db *store.DB, list []*store.Session) error) error {
	if err := store.Present(o.DB); err != nil {
		return err
	}
	db, err := tape.OpenWrite(ctx, o.DB)
	if err != nil {
		return err
	}
	defer db.Close()
	var list []*store.Session
	for _, sel := range o.Sessions {
		s, err := only(ctx, db, sel)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(t *store.Session) bool { return t.ID == s.ID }) {
			list = append(list, s)
		}
	}
	return fn(db, list)
}

// only finds the session that sel means. What changes or deletes one takes no
// name that several have.
func only(ctx context.Context, db *store.DB, sel string) (*store.Session, error) {
	s, err := db.Find(ctx, sel)
	if err != nil || sel != s.Name {
		return s, err
	}
	list, err := db.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	var same []string
	for _, other := range list {
		if other.Name == sel {
			same = append(same, strconv.FormatInt(other.ID, 10))
		}
	}
	if len(same) > 1 {
		return nil, fmt.Errorf("%w: sessions %s of %s have the name %s; choose one by its number", store.ErrUnusable, strings.Join(same, ", "), db.Path(), sel)
	}
	return s, nil
}

// remove deletes sessions.
func remove(ctx context.Context, o manageOptions) error {
	return manage(ctx, o, func(db *store.DB, list []*store.Session) error { return deleteAll(ctx, db, list, o) })
}

// prune deletes old sessions.
func prune(ctx context.Context, o manageOptions) error {
	return manage(ctx, o, func(db *store.DB, _ []*store.Session) error {
		all, err := db.Sessions(ctx)
		if err != nil {
			return err
		}
		since := o.Now.Add(-time.Duration(o.Older))
		return deleteAll(ctx, db, store.Prunable(all, o.Keep, since), o)
	})
}

// deleteAll deletes sessions, leaves no byte of them in the file and prints
// them. That they are gone is what was asked for; when old bytes cannot be
// wiped now, people are told.
func deleteAll(ctx context.Context, db *store.DB, list []*store.Session, o manageOptions) error {
	if !o.DryRun && len(list) > 0 {
		if err := db.Delete(ctx, list...); err != nil {
			return err
		}
		if err := db.Scrub(ctx); err != nil {
			warn(o.Err, "deleted, but the file keeps its size: %v", err)
		}
		for _, s := range list {
			if err := tape.Forget(o.DB, s.UID); err != nil {
				warn(o.Err, "deleted, but it may come back: %v", err)
			}
			if err := transcript.Forget(s.UID); err != nil {
				warn(o.Err, "deleted, but not all that was derived from it: %v", err)
			}
		}
	}
	p := newPrinter(o.Out, ColorNever)
	for _, s := range list {
		if o.JSON {
			p.json(deleted{s.ID, s.UID, s.Name, s.Started.UTC(), s.Count(), bytesOf(s) + s.ExchangedBytes, !o.DryRun, s.Exchanged})
			continue
		}
		word := "deleted"
		if o.DryRun {
			word = "would delete"
		}
		name := ""
		if s.Name != "" {
			name = fmt.Sprintf(" %q", s.Name)
		}
		p.line(plain(fmt.Sprintf("%s session %d%s of %s: %s", word, s.ID, name,
			s.Started.Local().Format("2006-01-02 15:04"), held(s))))
	}
	return p.finish(nil)
}

// rename gives a session another name.
func rename(ctx context.Context, o manageOptions) error {
	return manage(ctx, o, func(db *store.DB, list []*store.Session) error { return db.Rename(ctx, list[0], o.Name) })
}

// tag sets and removes tags of a session and prints what it has then.
func tag(ctx context.Context, o manageOptions) error {
	return manage(ctx, o, func(db *store.DB, list []*store.Session) error {
		s := list[0]
		for _, pair := range o.Set {
			key, value, _ := strings.Cut(pair, "=")
			if err := db.SetTag(ctx, s, key, value); err != nil {
				return err
			}
		}
		for _, key := range o.Remove {
			if err := db.Untag(ctx, s, key); err != nil {
				return err
			}
		}
		p := newPrinter(o.Out, ColorNever)
		if o.JSON {
			p.json(summarize(s).Tags)
			return p.finish(nil)
		}
		for _, key := range sortedKeys(s.Tags) {
			p.line(plain(key + "=" + s.Tags[key]))
		}
		return p.finish(nil)
	})
}

// age is a duration that people write in days and weeks too: 12h, 30d, 2w.
type age time.Duration

func (a *age) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

// Set reads an age (pflag.Value).
func (a *age) Set(s string) error {
	units := map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	if n := len(s); n > 1 && units[s[n-1:]] > 0 {
		v, err := strconv.ParseFloat(s[:n-1], 64)
		if err == nil && v >= 0 && v < 1e5 {
			*a = age(v * float64(units[s[n-1:]]))
			return nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		*a = age(d)
		return nil
	}
	return fmt.Errorf("%q is no age; write 12h, 30d or 2w", s)
}

// Type names the flag's value in the help (pflag.Value).
func (a *age) Type() string { return "age" }

// held says how much is stored of a session.
func held(s *store.Session) string {
	text := count(int(s.Count()), "frame")
	if s.Exchanged > 0 {
		text += ", " + count(int(s.Exchanged), "exchange")
	}
	return text + ", " + size(bytesOf(s)+s.ExchangedBytes)
}
