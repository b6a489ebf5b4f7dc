package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// sessionRows is the list of sessions: a head line and one line each.
type sessionRows struct {
	sessions []*store.Session
	list     []summary
	sort     string // a column; "" is newest first
	filter   string // words that must occur, or the expression of only
	only     *transcript.Filter
	now      func() time.Time
	shown    []int // indexes on show
	table    []line
	width    int
}

// Len returns the number of sessions on show.
func (r *sessionRows) Len() int { return len(r.shown) }

// Item returns the line of a session.
func (r *sessionRows) Item(i, width int) []line {
	r.lay(width)
	return []line{r.table[i+1]}
}

// head returns the names of the columns.
func (r *sessionRows) head(width int) line {
	r.lay(width)
	return r.table[0]
}

// lay makes the table for a width.
func (r *sessionRows) lay(width int) {
	if r.table != nil && r.width == width {
		return
	}
	list := make([]summary, len(r.shown))
	for i, s := range r.shown {
		list[i] = r.list[s]
	}
	r.table, r.width = sessionTable(list, r.now(), width), width
}

// arrange filters and sorts.
func (r *sessionRows) arrange() {
	r.shown, r.table = r.shown[:0], nil
	for i := range r.list {
		if r.passes(i) {
			r.shown = append(r.shown, i)
		}
	}
	slices.Reverse(r.shown)
	key := map[string]func(m *summary) float64{
		"lasted": func(m *summary) float64 { return m.Seconds }, "turns": func(m *summary) float64 { return float64(m.Turns) },
		"calls": func(m *summary) float64 { return float64(m.Calls) }, "errors": func(m *summary) float64 { return float64(m.Errors) },
		"frames": func(m *summary) float64 { return float64(m.Frames) }, "size": func(m *summary) float64 { return float64(m.Bytes) },
	}[r.sort]
	slices.SortStableFunc(r.shown, func(a, b int) int {
		switch {
		case r.sort == "name":
			return strings.Compare(r.list[a].Name, r.list[b].Name)
		case key == nil:
			return 0
		case key(&r.list[a]) > key(&r.list[b]):
			return -1
		case key(&r.list[a]) < key(&r.list[b]):
			return 1
		}
		return 0
	})
}

// sessionFilter returns the filter of sessions that an expression is, nil when
// it is just words.
func sessionFilter(text string) (*transcript.Filter, error) {
	if !strings.ContainsAny(text, "=<>~:()") {
		return nil, nil
	}
	f, err := transcript.ParseFilter(text)
	if err == nil && f.NeedsFrames() {
		err = errors.New("this asks for frames, which / looks for; a list of sessions is filtered by name, tag, dialect, state and command")
	}
	return f, err
}

// passes reports whether the filter chooses a session: whether all its words
// occur in what is known of it.
func (r *sessionRows) passes(i int) bool {
	m := &r.list[i]
	if r.filter == "" || r.only != nil {
		return r.only.Session(r.sessions[i]) != transcript.No
	}
	end, _ := ending(&store.Session{State: m.State, Reason: m.Reason, Exit: m.Exit})
	text := lower(strings.Join(append([]string{m.Name, m.UID, m.Dialect, m.Agent, tagText(m.Tags), m.Cwd, end}, m.Argv...), " "))
	for _, w := range strings.Fields(lower(r.filter)) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// sessionTicks is how many ticks of the UI lie between two looks at the list of
// sessions.
const sessionTicks = 4

var sortNames = []string{"newest", "name", "lasted", "turns", "calls", "errors", "frames", "size"}

// sessionsView lists the sessions of the recording. It counts turns, calls and
// errors behind the list, the newest session first.
func (u *ui) sessionsView() error {
	r := &sessionRows{now: u.now}
	p := newPane(u.theme, r)
	ctx, cancel := context.WithCancel(u.ctx)
	v := &view{name: "sessions", pane: p, close: cancel}
	load := func() (bool, error) {
		sessions, err := u.db.Sessions(u.ctx)
		if err != nil {
			return false, err
		}
		same := len(sessions) == len(r.sessions)
		known := map[string]*summary{}
		for i := range r.list {
			known[r.list[i].UID] = &r.list[i]
		}
		list := make([]summary, len(sessions))
		for i, s := range sessions {
			list[i] = summarize(s)
			if old := known[s.UID]; old != nil {
				list[i].copyCounts(old)
				same = same && old.Frames == list[i].Frames && old.State == list[i].State && old.Name == list[i].Name && tagText(old.Tags) == tagText(list[i].Tags)
			} else {
				same = false
			}
		}
		if same {
			r.sessions, r.list = sessions, list
			return false, nil
		}
		keepSelected(p, r, func() { r.sessions, r.list = sessions, list })
		return true, nil
	}
	if _, err := load(); err != nil {
		return err
	}
	v.head = r.head
	var marked *store.Session
	v.title = func() line {
		return plain(fmt.Sprintf(" %s: %s", u.path, count(len(r.list), "session")))
	}
	v.status = func() line {
		var l line
		if marked != nil {
			l = l.add(toneGood, fmt.Sprintf("session %d is marked  ", marked.ID))
		}
		if r.filter != "" {
			l = l.add(toneMark, fmt.Sprintf("%d of %d with %q", len(r.shown), len(r.list), r.filter)).add(tonePlain, " ")
		}
		return l.add(toneDim, fmt.Sprintf("%d/%d", min(p.sel+1, r.Len()), r.Len()))
	}
	counting, ticks := false, 0
	v.tick = func() bool { // while the list is looked at, not while a session is
		changed := false
		if ticks++; ticks%sessionTicks == 1 {
			var err error
			changed, err = load()
			u.fail(err)
		}
		if list := r.uncounted(); !counting && len(list) > 0 {
			counting = true
			u.workers.Go(func() {
				u.countSessions(ctx, list, func(news []summary) { keepSelected(p, r, func() { r.count(news) }) })
				u.post(func() { counting = false })
			})
		}
		return changed
	}
	selected := func() (*store.Session, error) {
		if r.Len() == 0 {
			return nil, errors.New("there is no session")
		}
		return r.sessions[r.shown[p.sel]], nil
	}
	open := func(string) error {
		s, err := selected()
		if err != nil {
			return err
		}
		return u.openSession(s)
	}
	v.commands = []command{
		{name: "open", keys: []string{"Enter", "l", "Right"}, bar: "open", help: "open the session", do: open},
		{name: "sort", keys: []string{"s"}, bar: "sort", help: "sort by the next column, or by the named one", do: func(arg string) error {
			next := arg
			if next == "" {
				next = sortNames[(slices.Index(sortNames, cmp.Or(r.sort, "newest"))+1)%len(sortNames)]
			}
			if !slices.Contains(sortNames, next) {
				return fmt.Errorf("sort by %q: want one of %s", next, strings.Join(sortNames, ", "))
			}
			keepSelected(p, r, func() { r.sort = next })
			u.say(toneDim, "sorted by "+next)
			return nil
		}, args: func() []string { return sortNames }},
		{name: "mark", keys: []string{"m", "Space"}, help: "mark the session for a comparison", do: func(string) error {
			s, err := selected()
			if err == nil {
				marked = s
				u.say(toneGood, fmt.Sprintf("session %d is marked; = compares another with it", s.ID))
			}
			return err
		}},
		{name: "compare", keys: []string{"="}, bar: "compare", help: "compare with the marked session, or with the one below", do: func(string) error {
			s, err := selected()
			if err != nil {
				return err
			}
			other := marked
			if other == nil || other.ID == s.ID {
				if p.sel+1 >= r.Len() {
					return errors.New("nothing to compare with: m marks a session")
				}
				other = r.sessions[r.shown[p.sel+1]]
			}
			return u.compare(other, s)
		}},
		{name: "rename", keys: []string{"r"}, help: "give the session another name", do: func(arg string) error {
			s, err := selected()
			if err != nil {
				return err
			}
			set := func(name string) error {
				return u.change(s, load, func(db *store.DB, s *store.Session) error { return db.Rename(u.ctx, s, name) })
			}
			if arg != "" {
				return set(arg)
			}
			u.typeLine("name: ", visible(s.Name), nil, set)
			return nil
		}},
		{name: "tag", keys: []string{"t"}, help: "set a tag, KEY=VALUE, or remove one, KEY", do: func(arg string) error {
			s, err := selected()
			if err != nil {
				return err
			}
			set := func(text string) error {
				return u.change(s, load, func(db *store.DB, s *store.Session) error {
					if key, value, ok := strings.Cut(text, "="); ok {
						return db.SetTag(u.ctx, s, key, value)
					}
					return db.Untag(u.ctx, s, text)
				})
			}
			if arg != "" {
				return set(arg)
			}
			u.typeLine("tag: ", "", nil, set)
			return nil
		}},
		{name: "delete", keys: []string{"Delete"}, help: "delete the session, after asking", do: func(string) error {
			s, err := selected()
			if err != nil {
				return err
			}
			u.ask(fmt.Sprintf("delete session %d %s for good? y deletes", s.ID, visibleCut(s.Name, 30)), func(key string) {
				if key != "y" {
					u.say(toneDim, "nothing was deleted")
				} else {
					u.fail(u.change(s, load, func(db *store.DB, s *store.Session) error {
						return deleteAll(u.ctx, db, []*store.Session{s}, manageOptions{Out: io.Discard, Err: io.Discard})
					}))
				}
			})
			return nil
		}},
		{name: "filter", keys: []string{"f"}, bar: "filter", help: "show only sessions with these words, or that a filter chooses: state = cut", do: func(arg string) error {
			set := func(text string) error {
				only, err := sessionFilter(text)
				if err == nil {
					keepSelected(p, r, func() { r.filter, r.only = text, only })
				}
				return err
			}
			if arg != "" {
				return set(arg)
			}
			u.typeLine("filter: ", r.filter, nil, set)
			return nil
		}},
	}
	v.search = func(text string, _ bool) error { return u.searchEverywhere(text) }
	v.complete = func(typed string) []string { return transcript.CompleteFilter(typed, nil) }
	u.push(v)
	return nil
}

// change opens the database for writing, changes a session of it and reads the
// list again. The UI itself only ever reads.
func (u *ui) change(s *store.Session, load func() (bool, error), do func(db *store.DB, s *store.Session) error) error {
	err := manage(u.ctx, manageOptions{DB: u.path, Sessions: []string{s.UID}}, func(db *store.DB, list []*store.Session) error {
		return do(db, list[0])
	})
	if err == nil {
		_, err = load()
	}
	if err == nil {
		u.say(toneGood, "done")
	}
	return err
}

// keepSelected arranges the list anew after change; the session that is selected
// stays so, wherever it stands then.
func keepSelected(p *pane, r *sessionRows, change func()) {
	uid := ""
	if p.sel < r.Len() {
		uid = r.list[r.shown[p.sel]].UID
	}
	change()
	r.arrange()
	for i, k := range r.shown {
		if r.list[k].UID == uid && !p.tail {
			p.to(i)
		}
	}
}

// uncounted returns the sessions of which is not known what only their frames
// tell, or not since they have ended, the newest first.
func (r *sessionRows) uncounted() []*store.Session {
	var out []*store.Session
	for i, s := range slices.Backward(r.sessions) {
		if r.list[i].countedIn != s.State {
			out = append(out, s)
		}
	}
	return out
}

// count takes what was counted of sessions.
func (r *sessionRows) count(news []summary) {
	at := map[string]*summary{}
	for i := range r.list {
		at[r.list[i].UID] = &r.list[i]
	}
	for i := range news {
		if m := at[news[i].UID]; m != nil {
			m.copyCounts(&news[i])
		}
	}
}

// countSessions derives what the list says of each session beyond its row, and
// ends with ctx. take gets what is new, on the drawing goroutine.
func (u *ui) countSessions(ctx context.Context, sessions []*store.Session, take func(news []summary)) {
	var news []summary
	at := time.Now()
	for i, s := range sessions {
		own := *s
		m := summarize(&own)
		m.countedIn = own.State
		if d, err := transcript.DialectOf(ctx, &own, u.dialect); err == nil {
			if t, err := transcript.Open(ctx, &own, d); err == nil {
				m.count(t)
			}
		}
		if ctx.Err() != nil {
			return
		}
		news = append(news, m)
		if time.Since(at) >= reportEvery || i+1 == len(sessions) {
			told := news
			news, at = nil, time.Now()
			u.post(func() { take(told) })
		}
	}
}
