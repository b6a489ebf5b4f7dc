package store

import (
	"errors"
	"fmt"
)

// exchanges reads all exchanges that the session's row counts, and compares each
// with its own hash and all with their proof.
func (v *verifier) exchanges() error {
	var chain Chain
	var known knownBodies
	sound := true
	flaw := func(number int64, format string, args ...any) {
		sound = false
		if len(v.out.Flaws) < maxFlaws {
			v.out.Flaws = append(v.out.Flaws, Flaw{Exchange: number, Text: fmt.Sprintf("exchange %d ", number) + fmt.Sprintf(format, args...)})
		}
	}
	for number := int64(1); number <= v.s.Exchanged; number++ {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		x, err := v.s.keptExchange(v.ctx, number, &known)
		switch {
		case errors.Is(err, ErrNotFound):
			flaw(number, "is missing")
			continue
		case isDamage(err):
			flaw(number, "cannot be read: %v", err)
			continue
		case err != nil:
			return err
		}
		hash := x.digest()
		if hash != [32]byte(x.hash) {
			flaw(number, "is not as recorded: it does not fit its hash")
			continue
		}
		chain.link(hash, x.Sent+x.Received)
		v.out.Exchanges++
		if x.Omitted > 0 && v.short == nil {
			v.short = &Exchange{Number: number, After: x.After, Omitted: x.Omitted}
		}
	}
	if !sound {
		return nil
	}
	now := *v.s
	if now.State == Recording {
		// An open one may have grown since its number was read.
		if err := now.Refresh(v.ctx); err != nil || now.exchangeChain != v.s.exchangeChain {
			return err
		}
	}
	if chain != v.s.exchangeChain {
		v.flaw(0, 0, "the exchanges do not fit the session's proof")
	}
	if now.State == Recording {
		return nil
	}
	if _, err := v.s.keptExchange(v.ctx, v.s.Exchanged+1, &known); !errors.Is(err, ErrNotFound) {
		if err != nil && !isDamage(err) {
			return err
		}
		flaw(v.s.Exchanged+1, "was added after it was recorded")
	}
	return nil
}
