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
// sessions at the same time. Who has started a replay is its parent process,
// unless client says more: two tests that run at once in one process are two
// clients, and what starts its agents through shells is one client whose agents
// have a parent each. In both cases the test names it, best by AGENTREC_CLIENT.
func claims(file, client string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	if whole, err := filepath.Abs(file); err == nil {
		file = whole
	}
	who := fmt.Sprintf("process %d", os.Getppid())
	if client != "" {
		who = "client " + client
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", who, file))
	return filepath.Join(os.TempDir(), fmt.Sprintf("agentrec-claims-%d", os.Getuid()), fmt.Sprintf("%x", sum[:12]))
}

// How long a client that has ended an agent and started the next gets until the
// first lets go of its session.
const maxLettingGo = time.Second

// take claims the session that fits the client's first frame best among those
// that no sibling plays. Where nothing can be claimed, the best is taken. others
// counts the sessions of FILE that were out of the question.
func (o *Options) take(list []candidate, line []byte, others int, sleep func(time.Duration)) (candidate, error) {
	waited := time.Duration(0)
	for len(list) > 0 {
		n, how := best(list, line)
		chosen := list[n]
		if o.claims == "" {
			return chosen, nil
		}
		held, err := tape.Hold(o.claims + "-" + chosen.session.UID)
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
	message := "every session of %s that begins so is being played to this client already; clients that run in one process are told apart by --client NAME, or AGENTREC_CLIENT in their environment"
	if others > 0 {
		message += fmt.Sprintf(" (not looked at: %d whose agent greets otherwise; play those by --session NUMBER)", others)
	}
	return candidate{}, fmt.Errorf("%w: "+message, store.ErrUnusable, o.File)
}
