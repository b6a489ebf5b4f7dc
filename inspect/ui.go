package inspect

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"agentrec/store"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

// tickEvery is how often a view looks whether its session has grown.
const tickEvery = 250 * time.Millisecond

// ui is the terminal UI: a stack of views, one on the screen. All of it belongs
// to the goroutine that draws; others hand it work through post.
type ui struct {
	ctx     context.Context
	path    string
	dialect string // reads all sessions when not empty
	db      *store.DB
	theme   *theme
	causes  Causes // may be nil
	app     *tview.Application
	root    *root
	views   []*view

	message     line // in the status line until the next key
	pending     func(answer string)
	sought      string // what was searched for last
	posts       chan func()
	quit        chan struct{} // closed when the user leaves
	leave       sync.Once
	workers     sync.WaitGroup // goroutines that read for views; they end with their view
	now         func() time.Time
	environment func(string) string
	external    func(argv []string, input []byte) error // runs a program on the terminal
	clipboard   func(data []byte)
}

// view is one thing on the screen.
type view struct {
	name     string // as help and ":" call it
	title    func() line
	head     func(width int) line // names of the columns; may be nil
	pane     *pane
	status   func() line // at the right of the status line
	commands []command
	tick     func() bool                        // looks for news, reports whether to draw; may be nil
	close    func()                             // releases what the view holds; may be nil
	search   func(text string, back bool) error // of / and n; nil where there is nothing to search
	complete func(text string) []string         // what may be typed after /; may be nil
}

// newUI returns a UI over an open recording. It does not draw yet.
func newUI(ctx context.Context, db *store.DB, path string, t *theme) *ui {
	u := &ui{
		ctx: ctx, db: db, path: path, theme: t, app: tview.NewApplication(), posts: make(chan func(), 64),
		quit: make(chan struct{}), now: time.Now, environment: os.Getenv,
	}
	u.root = newRoot(u)
	u.external = u.runExternal
	u.clipboard = func(data []byte) {}
	u.app.SetRoot(u.root, true).EnableMouse(true)
	return u
}

// run draws on screen (nil is the terminal) until the user leaves or ctx ends.
func (u *ui) run(screen tcell.Screen) error {
	if screen != nil {
		u.app.SetScreen(screen)
	}
	defer u.release()
	started := make(chan struct{})
	u.app.SetAfterDrawFunc(func(s tcell.Screen) {
		u.clipboard = s.SetClipboard
		u.app.SetAfterDrawFunc(nil)
		close(started)
	})
	ended := make(chan struct{})
	var pump sync.WaitGroup
	pump.Go(func() {
		select {
		case <-started:
			u.pump(ended)
		case <-ended:
		}
	})
	err := u.app.Run()
	close(ended)
	pump.Wait()
	return err
}

// release closes all views and waits for the goroutines that read for them.
func (u *ui) release() {
	u.stop()
	for u.pop() {
	}
	u.workers.Wait()
}

// pump hands posted work to the drawing goroutine, one piece after the other,
// and stops the application as its last act. tview waits for ever in an update
// after the application has stopped, so nobody else may queue one.
func (u *ui) pump(ended <-chan struct{}) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-u.quit:
			u.app.QueueUpdate(u.app.Stop)
			return
		case <-u.ctx.Done():
			u.app.QueueUpdate(u.app.Stop)
			return
		case f := <-u.posts:
			u.app.QueueUpdateDraw(f)
		case <-tick.C:
			news := false
			u.app.QueueUpdate(func() { news = u.tick() })
			if news {
				u.app.QueueUpdateDraw(func() {})
			}
		}
	}
}

// post hands f to the drawing goroutine; it is dropped once the UI has ended.
// Safe from any goroutine but the drawing one.
func (u *ui) post(f func()) {
	select {
	case u.posts <- f:
	case <-u.quit:
	case <-u.ctx.Done():
	}
}

func (u *ui) tick() bool {
	v := u.top()
	return v != nil && v.tick != nil && v.tick()
}

// stop leaves the UI.
func (u *ui) stop() { u.leave.Do(func() { close(u.quit) }) }

func (u *ui) top() *view {
	if len(u.views) == 0 {
		return nil
	}
	return u.views[len(u.views)-1]
}

// push shows v over the views before it. What was searched for is marked in it.
func (u *ui) push(v *view) {
	if len(u.views) > 0 && v.name != "help" && v.pane.find == "" {
		v.pane.find = marked(u.sought)
	}
	u.views = append(u.views, v)
	if v.pane.open == nil {
		v.pane.open = func() { u.press("Enter") }
	}
}

// replace shows v in place of the view on the screen.
func (u *ui) replace(v *view) {
	u.pop()
	u.push(v)
}

// pop goes back to the view before, and reports whether there was one.
func (u *ui) pop() bool {
	if len(u.views) == 0 {
		return false
	}
	v := u.top()
	u.views = u.views[:len(u.views)-1]
	if v.close != nil {
		v.close()
	}
	return true
}

// say puts a line of text into the status line.
func (u *ui) say(t tone, text string) { u.message = line{{text, t}} }

// fail puts an error into the status line: its first line, for what follows
// needs more room.
func (u *ui) fail(err error) {
	if err != nil {
		text, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
		u.say(toneError, text)
	}
}

// root draws the view on the screen between a title, a status line and the bar
// of keys or the line that is being typed.
type root struct {
	*tview.Box
	u     *ui
	input *prompt // nil when nothing is typed
}

func newRoot(u *ui) *root {
	return &root{Box: tview.NewBox().SetBackgroundColor(tcell.ColorDefault), u: u}
}

// Draw draws everything.
func (r *root) Draw(screen tcell.Screen) {
	r.DrawForSubclass(screen, r)
	x, y, w, h := r.GetInnerRect()
	v := r.u.top()
	if v == nil || w <= 0 || h <= 0 {
		return
	}
	t := r.u.theme
	body := h - 3
	if body < 1 {
		v.pane.SetRect(x, y, w, h)
		v.pane.Draw(screen)
		return
	}
	draw(screen, x, y, w, v.title(), t, tcell.StyleDefault.Reverse(true), true)
	first := y + 1
	if v.head != nil && body > 4 {
		draw(screen, x, first, w, v.head(w), t, tcell.StyleDefault, false)
		first, body = first+1, body-1
	}
	v.pane.SetRect(x, first, w, body)
	v.pane.Draw(screen)
	draw(screen, x, first+body, w, r.status(v, w), t, tcell.StyleDefault, false)
	if r.input == nil {
		draw(screen, x, y+h-1, w, keyBar(r.u.all(v), w), t, tcell.StyleDefault, false)
		return
	}
	r.input.draw(screen, x, y+h-1, w, body, t)
}

// status is the message at the left and the view's own words at the right.
func (r *root) status(v *view, w int) line {
	left := r.u.message
	var right line
	if v.status != nil {
		right = v.status()
	}
	rw := min(width(visible(right.String())), w)
	if said := visible(left.String()); len(left) > 0 && width(said) > w-rw-1 {
		return line{{fitMiddle(said, w), left[0].Tone}}
	}
	text := fit(visible(left.String()), max(w-rw-1, 0), true)
	t := tonePlain
	if len(left) > 0 {
		t = left[0].Tone
	}
	return append(line{{text + " ", t}}, right...)
}

// Focus gives the keys to the line being typed, if there is one.
func (r *root) Focus(delegate func(tview.Primitive)) {
	if r.input != nil {
		delegate(r.input.field)
		return
	}
	r.Box.Focus(delegate)
}

// HasFocus reports whether the root or the line being typed has the keys.
func (r *root) HasFocus() bool { return r.Box.HasFocus() || r.input != nil && r.input.field.HasFocus() }

// InputHandler runs the command of a key.
func (r *root) InputHandler() func(*tcell.EventKey, func(tview.Primitive)) {
	return r.WrapInputHandler(func(event *tcell.EventKey, setFocus func(tview.Primitive)) {
		if r.input != nil {
			if event.Key() == tcell.KeyCtrlC {
				r.u.stop()
				return
			}
			r.input.key(event, setFocus)
			return
		}
		r.u.press(keyName(event))
	})
}

// PasteHandler gives pasted text to the line being typed and to nothing else:
// a paste never runs commands.
func (r *root) PasteHandler() func(string, func(tview.Primitive)) {
	return r.WrapPasteHandler(func(text string, setFocus func(tview.Primitive)) {
		if r.input != nil {
			r.input.field.PasteHandler()(visible(text), setFocus)
			r.input.offer(r.input.field.GetText())
		}
	})
}

// MouseHandler gives the mouse to the pane and the keys of the bar.
func (r *root) MouseHandler() func(tview.MouseAction, *tcell.EventMouse, func(tview.Primitive)) (bool, tview.Primitive) {
	return r.WrapMouseHandler(func(action tview.MouseAction, event *tcell.EventMouse, setFocus func(tview.Primitive)) (bool, tview.Primitive) {
		v := r.u.top()
		if v == nil {
			return false, nil
		}
		x, y := event.Position()
		left, top, w, h := r.GetInnerRect()
		if r.input != nil {
			return r.input.field.MouseHandler()(action, event, setFocus)
		}
		if y == top+h-1 && action == tview.MouseLeftClick {
			if key := keyAt(r.u.all(v), w, x-left); key != "" {
				r.u.press(key)
			}
			return true, nil
		}
		if action == tview.MouseRightClick {
			r.u.press("Esc")
			return true, nil
		}
		return v.pane.MouseHandler()(action, event, setFocus)
	})
}
