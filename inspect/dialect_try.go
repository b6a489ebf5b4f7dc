package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
)

// dialectCheck says whether a table is sound.
func dialectCheck(o dialectOptions) error {
	p := newPrinter(o.Out, o.Color)
	say := func(level, message string) {
		if o.JSON {
			p.json(struct {
				File    string `json:"file"`
				Level   string `json:"level"`
				Message string `json:"message"`
			}{o.Name, level, message})
			return
		}
		p.line(plain(o.Name+": ").add(toneOfLevel(level), level).add(tonePlain, ": "+message))
	}
	d, err := dialect.Load(o.Name)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return p.finish(err)
	case err != nil:
		say("error", err.Error())
		return p.finish(Findings{1})
	}
	warnings, notes := d.Lint()
	for _, l := range warnings {
		say("warning", l)
	}
	for _, l := range notes {
		say("note", l)
	}
	if len(warnings) > 0 {
		return p.finish(Findings{len(warnings)})
	}
	say("ok", fmt.Sprintf("the table %s is sound: %s", d.Name(), count(len(d.Rules()), "row")))
	return p.finish(nil)
}

func toneOfLevel(level string) tone {
	switch level {
	case "error":
		return toneError
	case "ok":
		return toneGood
	}
	return toneAsk
}

// dialectDraft prints a table proposed from a recording.
func dialectDraft(ctx context.Context, o dialectOptions) error {
	l, err := openLook(ctx, o.File, o.Session, "ndjson")
	if err != nil {
		return err
	}
	defer l.Close()
	var d dialect.Drafter
	for f, err := range l.Session.Frames(ctx, 1, 0) {
		if err != nil {
			return fmt.Errorf("reading the frames: %w", err)
		}
		if f.Raw != nil && !d.Observe(f.Stream, f.Raw) {
			break
		}
	}
	p := newPrinter(o.Out, ColorNever)
	p.string(d.Table(filepath.Base(o.File)))
	return p.finish(nil)
}

// tried is what a table made of the frames of one family.
type tried struct {
	Stream string `json:"stream"`
	Family string `json:"family"`
	Label  string `json:"label"`
	Role   string `json:"role"`
	Frames int    `json:"frames"`
	Paired int    `json:"paired"`
}

// left is a frame that a table leaves over.
type left struct {
	Seq   int64  `json:"seq"`
	Why   string `json:"why"`
	Label string `json:"label"`

	open bool // it is no fault of the table's
}

// dialectTest says how a table reads a recording.
func dialectTest(ctx context.Context, o dialectOptions) error {
	d, err := dialect.Load(o.Name)
	if err != nil {
		return err
	}
	l, err := openLook(ctx, o.File, o.Session, "ndjson")
	if err != nil {
		return err
	}
	defer l.Close()
	t, err := transcript.Build(ctx, l.Session, d)
	if err != nil {
		return err
	}
	rows := map[tried]*tried{}
	var over []left
	for f, err := range l.Session.Frames(ctx, 1, 0) {
		if err != nil {
			return fmt.Errorf("reading the frames: %w", err)
		}
		if f.Raw == nil || int(f.Seq) > len(t.Entries) {
			continue
		}
		r := d.Read(f.Stream, f.Raw)
		key := tried{Stream: f.Stream.String(), Label: r.Label, Role: transcript.RoleName(r.Role)}
		if r.Rule != nil {
			key.Family = r.Rule.Family
		}
		row := rows[key]
		if row == nil {
			row = &tried{Stream: key.Stream, Family: key.Family, Label: key.Label, Role: key.Role}
			rows[key] = row
		}
		row.Frames++
		pair := t.Entries[f.Seq-1].Pair != 0
		switch {
		case pair:
			row.Paired++
		case r.Role == dialect.Raw && (f.Stream.String() != "err"):
			over = append(over, left{Seq: f.Seq, Why: "fits no family", Label: r.Label})
		case r.Role == dialect.Response && r.Members == nil:
			over = append(over, left{Seq: f.Seq, Why: "answers nothing", Label: r.Label})
		}
	}
	wrong := len(over)
	for _, seq := range t.Open() {
		over = append(over, left{Seq: seq, Why: "has no answer", Label: t.Label(t.Entries[seq-1]), open: true})
	}
	slices.SortStableFunc(over, func(a, b left) int { return cmp.Compare(a.Seq, b.Seq) })
	return printTried(o, t, slices.Collect(maps.Values(rows)), over, wrong)
}

func printTried(o dialectOptions, t *transcript.Transcript, rows []*tried, over []left, wrong int) error {
	slices.SortFunc(rows, func(a, b *tried) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(b.Frames, a.Frames), cmp.Compare(a.Label, b.Label))
	})
	p := newPrinter(o.Out, o.Color)
	for _, r := range rows {
		if o.JSON {
			p.json(struct {
				Family *tried `json:"family"`
			}{r})
			continue
		}
		paired := ""
		if r.Role == "request" || r.Role == "response" {
			paired = fmt.Sprintf(", %d paired", r.Paired)
		}
		p.line(line{}.pad(toneDim, r.Stream, 4).add(tonePlain, fmt.Sprintf("%7d  ", r.Frames)).pad(toneStrong, r.Label, 40).add(tonePlain, " "+r.Role+paired))
	}
	const most = 100
	for i, l := range over {
		if o.JSON {
			p.json(struct {
				Left left `json:"left"`
			}{l})
			continue
		}
		if i == most {
			p.line(plain(fmt.Sprintf("and %d more", len(over)-most)))
			break
		}
		tone := toneError
		if l.open {
			tone = toneAsk
		}
		p.line(plain(fmt.Sprintf("frame %d ", l.Seq)).add(toneStrong, l.Label).add(tonePlain, " ").add(tone, l.Why))
	}
	if !o.JSON {
		p.line(plain(fmt.Sprintf("%s, %s, %s", count(len(t.Turns), "turn"), count(len(t.Calls), "call"), count(len(over), "frame")+" left over")))
	}
	if wrong > 0 {
		return p.finish(Findings{wrong})
	}
	return p.finish(nil)
}
