package inspect

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // page.css
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"sync"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

//go:embed page.css
var pageStyle string

// maxRows is how many items each view of a page holds. Browsers do not
// enjoy more; the page says what it leaves out.
const maxRows = 20_000

// pages are the parts of the page. html/template escapes what is put into them
// by where it stands; visibleLines has made it harmless to the eye before.
// They are parsed when the first page is written.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Parse(`
{{define "head"}}<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{{.Hash}}'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>{{.Style}}</style></head><body>
<h1>{{.Title}}</h1>
<p class="dim">{{.About}}</p>
<table>{{range .Outcome}}<tr><th>{{.Name}}</th><td{{if .Bad}} class="bad"{{end}}>{{.Text}}</td></tr>
{{end}}</table>
<nav><p><a href="#conversation">Conversation</a><a href="#timeline">Timeline</a>{{if .Exchanges}}<a href="#exchanges">Exchanges</a>{{end}}</p></nav>
{{end}}
{{define "section"}}<h2 id="{{.}}">{{.}}</h2>
{{end}}
{{define "said"}}<div class="said {{.Side}}" id="c{{.Index}}"><p><b class="{{.Tone}}">{{.Who}}</b> <a class="dim" href="#t{{.Index}}">{{.Time}}</a> <span class="dim">{{.Facts}}</span></p>
{{range .Parts}}{{if .Code}}<pre>{{.Text}}</pre>{{else}}<p class="text {{.Tone}}">{{.Text}}</p>{{end}}
{{end}}{{if .Cut}}<p class="dim">cut here; the recording holds the rest</p>{{end}}</div>
{{end}}
{{define "end"}}<hr class="turn"><p class="{{.Tone}}" id="c{{.Index}}">{{.Who}} <span class="dim">{{.Facts}}</span></p>
{{end}}
{{define "row"}}<details class="item" id="t{{.Index}}"><summary class="row"><span class="dim">{{.Time}} {{.Way}} </span><span class="{{.Tone}}">{{.Who}}</span> <span class="dim">{{.Facts}}</span> {{.Summary}}</summary>
{{range .Parts}}<pre>{{.Text}}</pre>
{{end}}</details>
{{end}}
{{define "model"}}<p class="dim" id="c{{.Index}}">⇄ <a class="dim" href="#{{.Link}}">{{.Who}}</a> <span class="{{.Tone}}">{{.Side}}</span> {{.Facts}}</p>
{{end}}
{{define "exchange"}}<details class="item" id="{{.Link}}"><summary class="row"><span class="dim">{{.Time}} ⇄ </span><b>{{.Who}}</b> <span class="{{.Tone}}">{{.Side}}</span> <span class="dim">{{.Facts}}</span> {{.Summary}}</summary>
{{range .Parts}}{{if .Code}}<pre>{{.Text}}</pre>{{else}}<p class="text {{.Tone}}">{{.Text}}</p>{{end}}
{{end}}</details>
{{end}}
{{define "note"}}<p class="dim">{{.}}</p>
{{end}}
{{define "foot"}}</body></html>
{{end}}`))
})

// pageItem is an item on the page.
type pageItem struct {
	Index                               int
	Link                                string // of an exchange: where it is told in full
	Side, Tone, Who, Time, Way, Summary string
	Facts                               string
	Parts                               []pagePart
	Cut                                 bool
}

type pagePart struct {
	Text, Tone string
	Code       bool
}

// toneClass is the class of a tone in the page's style.
func toneClass(t tone) string {
	switch t {
	case toneIn:
		return "in"
	case toneOut:
		return "out"
	case toneThought:
		return "thought"
	case toneCall:
		return "call"
	case toneAsk:
		return "ask"
	case toneError, toneErr:
		return "bad"
	case toneDim, toneEvent:
		return "dim"
	}
	return ""
}

// writeHTML writes a session as one page that needs nothing else: no network,
// no script. What was recorded stands in it as text only.
func writeHTML(ctx context.Context, out io.Writer, l *look) error {
	t, err := transcript.Build(ctx, l.Session, l.Dialect)
	if err != nil {
		return err
	}
	l.derived = t
	found, err := findingCount(ctx, l)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 64<<10)
	p := &page{w: w, story: &story{ctx: ctx, look: l, t: t}}
	if p.story.llm, err = p.story.exchanges(ctx); err != nil {
		return err
	}
	p.head(t.Outcome(found))
	p.part("section", "conversation")
	c := newChat(p.story)
	for row := range min(c.Len(), maxRows) {
		p.said(c, c.index(row))
	}
	p.leftOut(c.Len())
	p.part("section", "timeline")
	for i := range min(t.Len(), maxRows) {
		p.row(i)
	}
	p.leftOut(t.Len())
	p.exchanges()
	p.part("foot", nil)
	if p.err == nil {
		p.err = w.Flush()
	}
	return p.err
}

// page writes the parts of a page and remembers the first error.
type page struct {
	w     *bufio.Writer
	story *story
	err   error
}

func (p *page) part(name string, data any) {
	if p.err == nil {
		p.err = pages().ExecuteTemplate(p.w, name, data)
	}
	if p.err == nil {
		p.err = p.story.ctx.Err()
	}
}

// leftOut says how much of n items is not on the page.
func (p *page) leftOut(n int) {
	if n > maxRows {
		p.part("note", fmt.Sprintf("%d more are left out; the recording holds them", n-maxRows))
	}
}

func (p *page) head(o transcript.Outcome) {
	s := p.story.look.Session
	hash := sha256.Sum256([]byte(pageStyle))
	title := fmt.Sprintf("session %d", s.ID)
	if s.Name != "" {
		title = visibleCut(s.Name, 100)
	}
	var lines []transcript.Line
	for _, x := range o.Lines() {
		x.Text = visible(x.Text)
		lines = append(lines, x)
	}
	p.part("head", map[string]any{
		"Title": title, "Hash": base64.StdEncoding.EncodeToString(hash[:]), "Style": template.CSS(pageStyle), "Outcome": lines, "Exchanges": s.Exchanged > 0,
		"About": visible(fmt.Sprintf("%s, %s, %s, %s, recorded by agentrec on %s", dash(p.story.t.Agent), p.story.look.Dialect.Name(),
			count(int(s.Count()), "frame"), size(bytesOf(s)), s.Started.UTC().Format("2006-01-02 15:04 MST"))),
	})
}

// item returns what the page says of an item in both views.
func (p *page) item(i int) (item, pageItem) {
	it := p.story.item(i, maxBlock)
	t := toneOf(it.Item)
	if it.Failed {
		t = toneError
	}
	x := pageItem{Index: i, Tone: toneClass(t), Time: clock(it.Time), Way: way(it.Stream), Who: visible(name(it.Item)), Facts: facts(it.Item), Cut: it.Said.Cut}
	if it.Kind == transcript.KindEvent {
		text, tn := event(it.Event)
		x.Who, x.Tone, x.Way = visible(text), toneClass(tn), " "
	}
	if it.LLM != nil {
		x = exchangeItem(i, it.LLM)
	}
	return it, x
}

// said writes an item of the conversation.
func (p *page) said(c *chat, i int) {
	it, x := p.item(i)
	add := func(text, tone string, code bool) {
		if text != "" {
			x.Parts = append(x.Parts, pagePart{visibleLines(text), tone, code})
		}
	}
	switch it.Kind {
	case transcript.KindEnd:
		x.Who = visible(c.turnEnd(it)[1].Text)
		x.Facts = x.Time
		p.part("end", x)
		return
	case transcript.KindEvent:
		x.Facts = x.Time
		p.part("end", x)
		return
	case transcript.KindExchange:
		p.part("model", x)
		return
	case transcript.KindCall:
		x.Side, x.Who = "tool", "call "+visible(dash(it.Name))
		add(prettyJSON(it.Said.Args), "", true)
		add(it.Said.Text, "", true)
	case transcript.KindPlan:
		x.Side = "agent"
		if it.Said.Text == "" {
			for _, l := range plan(it.Said.Args, 0) {
				add(l.String(), "ask", false)
			}
		}
		add(it.Said.Text, "ask", false)
	case transcript.KindPrompt, transcript.KindAnswer:
		x.Side, x.Who = "you", speaker(it.Item)
		add(it.Said.Text, "", false)
	case transcript.KindStderr, transcript.KindRaw:
		add(it.Said.Text, "", true)
	default:
		x.Side = "agent"
		if who := speaker(it.Item); who != "" {
			x.Who = who
		}
		class := ""
		if it.Kind == transcript.KindThought {
			class = "thought"
		}
		add(it.Said.Text, class, false)
		add(it.Said.Answer, "in", false)
	}
	if it.Failed {
		x.Side = "wrong"
	}
	p.part("said", x)
}

// row writes an item of the timeline with the frames that make it.
func (p *page) row(i int) {
	it, x := p.item(i)
	if it.LLM != nil {
		x.Parts = []pagePart{{Text: exchangeSaid(it.LLM)}}
	} else if it.Kind != transcript.KindEvent {
		x.Summary = visibleCut(rowSummary(it), 160)
		seqs := []int64{it.Seq}
		if it.Answer > 0 && it.Answer != it.Seq {
			seqs = append(seqs, it.Answer)
		}
		for _, seq := range seqs {
			x.Parts = append(x.Parts, pagePart{Text: p.frame(seq)})
		}
	}
	p.part("row", x)
}

// maxFrameText is how much of a frame the timeline of a page shows, in bytes.
const maxFrameText = 8 << 10

func (p *page) frame(seq int64) string {
	s := p.story.look.Session
	f, err := s.Frame(p.story.ctx, seq)
	if err != nil {
		p.err = err
		return ""
	}
	raw, err := headOf(p.story.ctx, s, f)
	if err != nil {
		p.err = err
		return ""
	}
	text := string(raw)
	if f.Raw != nil && f.Size <= maxFrameText {
		text = prettyJSON(text)
	}
	more := ""
	if len(text) > maxFrameText {
		text, more = transcript.Clip(text, maxFrameText), "\n... "+size(f.Size)+" in all"
	}
	return fmt.Sprintf("#%d %s, %s, %s\n", seq, f.Stream, clock(f.Time), size(f.Size)) + visibleLines(text) + more
}

// prettyJSON indents JSON and returns anything else as it is.
func prettyJSON(text string) string {
	if text == "" || !dialect.Valid([]byte(text)) {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// exportHTML writes the page of one session.
func exportHTML(ctx context.Context, w io.Writer, o exportOptions, s *store.Session) error {
	d, err := transcript.DialectOf(ctx, s, o.Dialect)
	if err != nil {
		return err
	}
	if err := writeHTML(ctx, w, &look{Path: o.File, Session: s, Dialect: d}); err != nil {
		return fmt.Errorf("writing session %d as a page: %w", s.ID, err)
	}
	return nil
}
