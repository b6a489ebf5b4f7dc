package replay

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// claims names what the claims of this process's siblings begin with: replays of
// one FILE that the same client has started. Other clients may play the same
// sessions at the same time.
func claims(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	if whole, err := filepath.Abs(file); err == nil {
		file = whole
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", os.Getppid(), file))
	return filepath.Join(os.TempDir(), fmt.Sprintf("agentrec-claims-%d", os.Getuid()), fmt.Sprintf("%x", sum[:12]))
}

// How long a client that has ended an agent and started the next gets until the
// first lets go of its session.
const maxLettingGo = time.Second

// take claims the session that fits the client's first frame best among those
// that no sibling plays. Where nothing can be claimed, the best is taken.
func (o *Options) take(list []candidate, line []byte, sleep func(time.Duration)) (*store.Session, error) {
	waited := time.Duration(0)
	for len(list) > 0 {
		n, how := best(list, line)
		chosen := list[n].session
		if o.claims == "" {
			return chosen, nil
		}
		held, err := tape.Hold(o.claims + "-" + chosen.UID)
		if err != nil || held != nil {
			o.claimed = held
			return chosen, nil
		}
		rest := slices.Delete(slices.Clone(list), n, n+1)
		if len(rest) > 0 {
			if _, next := best(rest, line); !better(how, false, next, false) {
				list = rest
				continue
			}
		}
		if waited < maxLettingGo {
			sleep(20 * time.Millisecond)
			waited += 20 * time.Millisecond
			continue
		}
		list = rest
	}
	return nil, fmt.Errorf("%w: every session of %s that begins so is being played to this client already", store.ErrUnusable, o.File)
}
