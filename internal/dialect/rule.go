package dialect

import (
	"fmt"
	"maps"
	"slices"

	"agentrec/store"
)

// Scope is what a cancel aims at.
type Scope uint8

// The scopes of a cancel.
const (
	CancelsNothing      Scope = iota
	CancelsID                 // the request whose id is Reading.Target
	CancelsConversation       // the open turn of the conversation it names
	CancelsOpen               // whatever turn is open
)

// Rule is a row of the table: what holds for every frame of one family.
type Rule struct {
	Family   string
	Doc      string       // one line for people, may be empty
	Stream   store.Stream // In or Out
	Role     Role
	Class    Class
	First    bool         // only the first of a turn counts (phi tool_result)
	Turn     bool         // of a request: it begins a turn, and its response, whatever it says, ends it; of a notification: it begins a turn if none is open
	Idle     bool         // of a request: the agent reads it between turns only and swallows it in one (phi)
	Cancels  Scope        // of a cancel: what it aims at
	Answered bool         // of a cancel: its target is still answered (ACP, codex, phi; not MCP)
	AboutOf  store.Stream // where the request travelled that Reading.About speaks of

	conditions   string
	tags         []string // values of the table's tag, nil for any
	when         []check
	label        []template
	id           pick
	key          []template
	answers      []template
	handle       pick
	conversation pick
	opens        pick
	about        pick
	target       pick
	together     pick
	ends         *fact
	failed       *fact
	shows        Shows
	text         []template
	delta        deltaKind
	part         []template
	call         []template
	tool         []template
	args         pick
	split        *expr
	agent        []template
	usage        *usageRule
	slots        Paths
	slotOf       []Slot // by pattern of slots
	inner        *innerRule
	own          places
	refusal      *refusal
	line         int
	demands      map[string]list // what require is made of when it is first asked for
	require      []requirement
	promises     map[string]list // the same of returns
	returns      []requirement
}

// Shows returns what the family's frames show.
func (r *Rule) Shows() Shows { return r.shows }

// Offers reports whether the family's frames offer the agent a tool of the
// client's; Reading.Name is the tool.
func (r *Rule) Offers() bool {
	return r.Stream == store.In && len(r.tool) > 0 && r.shows == ShowsNothing
}

// Conditions returns what must hold of a frame of the family, for people:
// "type=event, runtimeEventType=checkpoint".
func (r *Rule) Conditions() string { return r.conditions }

type check struct {
	at   expr
	cond cond
}

func hold(checks []check, f frame) bool {
	for i := range checks {
		if !checks[i].cond.holds(checks[i].at.get(f)) {
			return false
		}
	}
	return true
}

// fact is something that is true, or true when conditions hold.
type fact struct{ when []check }

func (x *fact) of(f frame) bool { return x != nil && hold(x.when, f) }

type deltaKind uint8

const (
	deltaNone deltaKind = iota
	deltaAppend
	deltaReplace
)

type usageRule struct {
	input, output, cached, cost pick
	tokensSoFar, costSoFar      bool
}

type innerRule struct {
	at      expr
	dialect *Dialect
	stream  store.Stream
}

var roleWords = map[string]Role{"request": Request, "response": Response, "notification": Notification, "cancel": Cancel, "": Notification}
var classWords = map[string]Class{"act": Act, "query": Query, "free": Free, "": Act}
var deltaWords = map[string]deltaKind{"": deltaNone, "append": deltaAppend, "replace": deltaReplace, none: deltaNone}
var scopeWords = map[string]Scope{"id": CancelsID, "conversation": CancelsConversation, "open": CancelsOpen}
var streamWords = map[string]store.Stream{"in": store.In, "out": store.Out}

// AllShows lists every value of Shows in a fixed order: an index into it is a
// compact form of one.
var AllShows = []Shows{ShowsNothing, ShowsPrompt, ShowsText, ShowsThought, ShowsCall, ShowsResult, ShowsPlan, ShowsPermission, ShowsAnswer, ShowsError, ShowsEnd, ShowsGreeting, ShowsLog}

// word looks a word of the table up.
func word[T any](c *compiler, key, w string, words map[string]T) (T, error) {
	v, ok := words[w]
	if !ok {
		var known []string
		for k := range words {
			if k != "" {
				known = append(known, k)
			}
		}
		slices.Sort(known)
		return v, c.fail("%s cannot be %q; %s", key, w, Suggest(w, known))
	}
	return v, nil
}

func (c *compiler) rule(f family, s store.Stream, t *table) (*Rule, error) {
	r := &Rule{Family: f.Name, Doc: f.Doc, Stream: s, First: f.First, Turn: f.Turn, Idle: f.Idle, conditions: f.When.String(), tags: tags(f.When, t.Tag)}
	if f.Name == "" {
		return nil, c.fail("a family needs a name, such as name: hello")
	}
	var err error
	try := func(e error) {
		if err == nil {
			err = e
		}
	}
	set := func(into *pick, from list) {
		p, e := c.pick(from)
		*into = p
		try(e)
	}
	say := func(into *[]template, from list) {
		p, e := c.texts(from)
		*into = p
		try(e)
	}
	var e error
	r.Role, e = word(c, "role", f.Role, roleWords)
	try(e)
	r.Class, e = word(c, "class", f.Class, classWords)
	try(e)
	r.delta, e = word(c, "delta", f.Delta, deltaWords)
	try(e)
	if r.shows = Shows(f.Shows); f.Shows == none {
		r.shows = ShowsNothing
	}
	if !slices.Contains(AllShows, r.shows) {
		try(c.fail("shows cannot be %q; write one of %q", f.Shows, AllShows[1:]))
	}
	r.when, e = c.tests(f.When, t.Tag)
	try(e)
	labels := f.Label
	if len(labels) == 0 {
		labels = list{f.Name}
	}
	r.label, e = c.templates(labels)
	try(e)
	r.key, e = c.templates(f.Key)
	try(e)
	r.answers, e = c.templates(f.Answers)
	try(e)
	set(&r.id, f.ID)
	set(&r.handle, f.Handle)
	set(&r.conversation, f.Conversation)
	set(&r.opens, f.Opens)
	set(&r.together, f.Together)
	set(&r.args, f.Args)
	say(&r.text, f.Text)
	say(&r.part, f.Part)
	say(&r.call, f.Call)
	say(&r.tool, f.Tool)
	say(&r.agent, f.Agent)
	if r.AboutOf = store.In + store.Out - s; f.About != nil {
		set(&r.about, f.About.Path)
		if f.About.Of != "" {
			r.AboutOf, e = word(c, "of", f.About.Of, streamWords)
			try(e)
		}
	}
	if f.Cancel != nil && r.Role == Cancel {
		r.Cancels, e = word(c, "target", f.Cancel.Target, scopeWords)
		try(e)
		r.Answered = f.Cancel.Answered
		set(&r.target, f.Cancel.ID)
		if (r.Cancels == CancelsID) != (len(r.target) > 0) {
			try(c.fail("a cancel with target: id needs id: PATH, and only that one"))
		}
	}
	if r.Role == Cancel && f.Cancel == nil {
		try(c.fail("a family of role cancel needs cancel: {target: id, conversation or open}"))
	}
	r.ends, e = c.fact(f.Ends)
	try(e)
	r.failed, e = c.fact(f.Failed)
	try(e)
	if f.Split != "" && f.Split != none {
		at, e := c.expr(f.Split)
		try(e)
		if e == nil && at.path != "" {
			try(c.fail("the path of split must be plain keys, such as message.content"))
		}
		r.split = &at
	}
	if f.Usage != nil {
		r.usage = &usageRule{}
		for _, w := range f.Usage.SoFar {
			switch w {
			case "tokens":
				r.usage.tokensSoFar = true
			case "cost":
				r.usage.costSoFar = true
			default:
				try(c.fail("so_far cannot be %q; write tokens, cost or both", w))
			}
		}
		set(&r.usage.input, f.Usage.Input)
		set(&r.usage.output, f.Usage.Output)
		set(&r.usage.cached, f.Usage.Cached)
		set(&r.usage.cost, f.Usage.Cost)
	}
	r.own.volatile, e = ParsePaths(f.Volatile...)
	try(e)
	r.own.secret, e = ParsePaths(f.Secret...)
	try(e)
	r.refusal, e = c.refusal(f.Refuse)
	try(e)
	r.line, r.demands = c.line, maps.Clone(t.Require)
	if r.demands == nil {
		r.demands = map[string]list{}
	}
	maps.Copy(r.demands, f.Require)
	r.promises = f.Returns
	try(c.slots(r, append(f.Slots[:len(f.Slots):len(f.Slots)], t.Slots...), f.About))
	if err != nil {
		return nil, fmt.Errorf("family %s: %w", f.Name, err)
	}
	return r, nil
}

func (c *compiler) fact(f *truth) (*fact, error) {
	if f == nil || f.never {
		return nil, nil
	}
	when, err := c.tests(f.when, "")
	return &fact{when}, err
}

func (c *compiler) inner(from *innerSpec, s store.Stream, find func(string) (*table, []byte, error)) (*innerRule, error) {
	e, err := c.expr(from.Path)
	if err != nil {
		return nil, err
	}
	if e.path != "" {
		return nil, c.fail("the path of inner must be plain keys, such as params.command")
	}
	if from.Stream != "" {
		if s, err = word(c, "stream", from.Stream, streamWords); err != nil {
			return nil, err
		}
	}
	t, source, err := find(from.Dialect)
	if err != nil {
		return nil, c.fail("inner: %w", err)
	}
	whole, _, err := extend(t, nil, find, 0)
	if err != nil {
		return nil, c.fail("inner: %w", err)
	}
	for _, f := range flatten(whole.Families) {
		if f.Inner != nil {
			return nil, c.fail("inner: the dialect %s has an inner one itself", from.Dialect)
		}
	}
	d, err := compile(t, source, find)
	if err != nil {
		return nil, err
	}
	return &innerRule{at: e, dialect: d, stream: s}, nil
}
