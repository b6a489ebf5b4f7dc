package inspect

import (
	"fmt"
	"io"
	"os"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
)

// dialectOptions is what the dialect commands are asked for.
type dialectOptions struct {
	Name    string // a built-in dialect, or a table file
	File    string // a recording
	Session string
	Source  bool
	Schema  bool
	JSON    bool
	Color   string
	Out     io.Writer
}

// dialectList prints the built-in dialects.
func dialectList(o dialectOptions) error {
	p := newPrinter(o.Out, o.Color)
	for _, name := range dialect.Names() {
		d, err := dialect.Builtin(name)
		if err != nil {
			return p.finish(err)
		}
		if o.JSON {
			p.json(struct {
				Name     string `json:"name"`
				Title    string `json:"title"`
				Version  string `json:"version"`
				Families int    `json:"families"`
			}{d.Name(), d.Title(), d.Version(), len(d.Rules())})
			continue
		}
		p.line(line{}.pad(toneStrong, d.Name(), 12).add(tonePlain, d.Title()))
	}
	return p.finish(nil)
}

// dialectShow prints what a table says.
func dialectShow(o dialectOptions) error {
	p := newPrinter(o.Out, o.Color)
	if o.Schema {
		p.bytes(dialect.Schema())
		return p.finish(nil)
	}
	d, err := dialect.Load(o.Name)
	if err != nil {
		return p.finish(err)
	}
	if o.Source {
		text, err := dialectSource(o.Name)
		if err != nil {
			return p.finish(err)
		}
		p.raw(text)
		return p.finish(nil)
	}
	if !o.JSON {
		p.line(plain("").add(toneStrong, d.Name()).add(tonePlain, "  "+d.Title()))
		for _, l := range wrap(d.Doc(), 98) {
			p.line(plain("  " + l))
		}
		p.line(plain("  " + dialectManners(d)))
		for _, c := range d.Clients() {
			p.line(plain("  " + clientLimits(c)))
		}
	}
	for _, r := range d.Rules() {
		if o.JSON {
			p.json(struct {
				Stream string   `json:"stream"`
				Family string   `json:"family"`
				Role   string   `json:"role"`
				Class  string   `json:"class"`
				Shows  string   `json:"shows,omitempty"`
				When   string   `json:"when"`
				Flags  []string `json:"flags"`
				Doc    string   `json:"doc,omitempty"`
			}{r.Stream.String(), r.Family, transcript.RoleName(r.Role), className(r.Class), string(r.Shows()), r.Conditions(), ruleFlags(r), r.Doc})
			continue
		}
		words := append([]string{transcript.RoleName(r.Role)}, ruleFlags(r)...)
		if s := r.Shows(); s != dialect.ShowsNothing {
			words = append(words, "shows "+string(s))
		}
		p.line(line{}.pad(toneDim, r.Stream.String(), 4).pad(toneStrong, r.Family, 24).add(tonePlain, " "+strings.Join(words, ", ")).add(toneDim, docOf(r)))
	}
	return p.finish(nil)
}

// docOf says when a row fits, and what the table says about it.
func docOf(r *dialect.Rule) string {
	text := "  when " + r.Conditions()
	if r.Conditions() == "" {
		text = "  always"
	}
	if r.Doc != "" {
		text += "; " + r.Doc
	}
	return text
}

// dialectSource returns the text of a table.
func dialectSource(name string) ([]byte, error) {
	if text, err := dialect.Source(name); err == nil {
		return text, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading a table: %w", err)
	}
	return text, nil
}

func dialectManners(d *dialect.Dialect) string {
	lanes := "every request for itself"
	switch {
	case d.OneLane():
		lanes = "one, all frames in order"
	case d.HasConversations():
		lanes = "by conversation"
	}
	if d.TextInput() {
		return "lanes: " + lanes + "; the client sends text up to its end, not frames"
	}
	return "lanes: " + lanes
}

func clientLimits(c dialect.Client) string {
	var limits []string
	if c.Queue > 0 {
		limits = append(limits, fmt.Sprintf("holds %d frames", c.Queue))
	}
	if c.Line > 0 {
		limits = append(limits, "reads lines up to "+size(int64(c.Line)))
	}
	return "client: " + c.Name + " " + strings.Join(limits, " and ")
}

func className(c dialect.Class) string { return [...]string{"act", "query", "free"}[c] }

// ruleFlags names what else holds for every frame of a family.
func ruleFlags(r *dialect.Rule) []string {
	out := []string{}
	for _, f := range []struct {
		on   bool
		name string
	}{
		{r.Class != dialect.Act, className(r.Class)},
		{r.Turn, "begins a turn"},
		{r.First, "first of a turn only"},
		{r.Cancels == dialect.CancelsID, "names its target"},
		{r.Cancels == dialect.CancelsConversation, "of the conversation's turn"},
		{r.Cancels == dialect.CancelsOpen, "of the open turn"},
		{r.Role == dialect.Cancel && r.Answered, "target still answered"},
		{r.Role == dialect.Cancel && !r.Answered, "target not answered"},
	} {
		if f.on {
			out = append(out, f.name)
		}
	}
	return out
}
