package inspect

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
)

// maxCopy is what terminals commonly take by OSC 52, in bytes of base64.
const maxCopy = 74_000

// copy puts b on the clipboard of the terminal; what names it for people.
func (u *ui) copy(what string, b []byte) error {
	if base64.StdEncoding.EncodedLen(len(b)) > maxCopy {
		return fmt.Errorf("copying %s: %s is more than terminals take; w writes it to a file", what, size(int64(len(b))))
	}
	u.clipboard(b)
	u.say(toneGood, "copied "+what+", "+size(int64(len(b))))
	return nil
}

// maxPaged is how much of what a row says a pager gets, in bytes.
const maxPaged = 16 << 20

// says returns what an item says, at most limit bytes of each part: its text, or
// its arguments and its result.
func (su *sessionUI) says(index, limit int) (string, error) {
	it := su.story.item(index, limit)
	said := []string{it.Said.Args, it.Said.Text, it.Said.Answer}
	if it.LLM != nil {
		said = []string{exchangeSaid(it.LLM)}
	}
	text := strings.Join(nonEmpty(said...), "\n")
	if text == "" {
		return "", errors.New("the row says nothing")
	}
	return text, nil
}

// rowCommands copy and page the item that is selected in a view; at returns it,
// -1 for none.
func (su *sessionUI) rowCommands(bar string, at func() int) []command {
	with := func(limit int, do func(text string) error) func(string) error {
		return func(string) error {
			i := at()
			if i < 0 {
				return errors.New("there is no row yet")
			}
			text, err := su.says(i, limit)
			if err != nil {
				return err
			}
			return do(text)
		}
	}
	return []command{
		{name: "copy", keys: []string{"y"}, bar: bar, help: "copy what the row says (OSC 52)", do: with(maxCopy, func(text string) error { return su.u.copy("what the row says", []byte(text)) })},
		{name: "pager", keys: []string{"v"}, help: "open all that the row says in $PAGER", do: with(maxPaged, su.u.pager)},
	}
}

// pager shows a text in the pager.
func (u *ui) pager(text string) error {
	argv := strings.Fields(u.environment("PAGER"))
	if len(argv) == 0 {
		argv = []string{"less"}
	}
	return u.external(argv, []byte(visibleLines(text)+"\n"))
}

// save writes to the file name, which must not exist yet, or asks for it with
// another name proposed; what names what is saved for people. A file that could
// not be written whole is taken away.
func (u *ui) save(what, name, proposed string, write func(f *os.File) error) error {
	to := func(name string) (err error) {
		if name == "" {
			return nil
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			if err = errors.Join(write(f), f.Close()); err != nil {
				os.Remove(name)
			}
		}
		if err != nil {
			return fmt.Errorf("saving %s: %w", what, err)
		}
		u.say(toneGood, "saved "+name)
		return nil
	}
	if name != "" {
		return to(name)
	}
	u.typeLine("save as: ", proposed, nil, to)
	return nil
}
