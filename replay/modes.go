package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"agentrec/internal/tape"
	"agentrec/store"
)

// recordMode returns the mode that holds: AGENTREC_RECORD beats the flag, and
// with CI set it is never.
func recordMode(flag string) (string, error) {
	mode, from := flag, "--record"
	if v := os.Getenv("AGENTREC_RECORD"); v != "" {
		mode, from = v, "AGENTREC_RECORD"
	}
	switch mode {
	case "once", "always", "never":
	default:
		return "", fmt.Errorf("%s %q is not known; use once, always or never", from, mode)
	}
	if inCI() {
		return "never", nil
	}
	return mode, nil
}

// inCI reports whether this is a run of continuous integration, whose services
// set CI.
func inCI() bool {
	v := os.Getenv("CI")
	return v != "" && v != "false"
}

// recorded records FILE from the command argv when the mode asks for it, and
// reports whether it did; then there is nothing left to replay. What a killed
// recorder has left of FILE takes its place; side is told so.
func recorded(ctx context.Context, file, flag string, argv []string, record Recorder, side io.Writer) (bool, error) {
	if len(argv) == 0 {
		return false, nil
	}
	mode, err := recordMode(flag)
	if err != nil {
		return false, err
	}
	_, err = os.Stat(file)
	missing := errors.Is(err, os.ErrNotExist)
	if missing && mode == "once" {
		if missing, err = heal(ctx, file, side); err != nil {
			return false, err
		}
	}
	switch {
	case mode == "never" && missing:
		why := "--record never"
		if inCI() {
			why = "CI is set"
		}
		return false, fmt.Errorf("%w: %s does not exist and nothing is recorded here (%s); run this once where it may be recorded and keep the file with the tests", store.ErrUnusable, file, why)
	case mode == "never", mode == "once" && !missing:
		return false, nil
	case record == nil:
		return false, fmt.Errorf("recording %s: this build cannot record", file)
	}
	return true, recordTo(ctx, file, argv, record)
}

// recordTo records into a database beside FILE that takes its place, or its
// form as text, when the agent has ended.
func recordTo(ctx context.Context, file string, argv []string, record Recorder) error {
	if filepath.Ext(file) != textExtension {
		if err := removeOne(ctx, file); err != nil {
			return fmt.Errorf("recording %s again: %w", file, err)
		}
		return record(ctx, file, argv)
	}
	dir, owner, err := workshop(file)
	if err != nil {
		return fmt.Errorf("recording %s: %w", file, err)
	}
	defer owner.Release()
	defer os.RemoveAll(dir)
	db := filepath.Join(dir, database)
	left := record(ctx, db, argv)
	if err := exportText(context.WithoutCancel(ctx), db, file); err != nil {
		return errors.Join(fmt.Errorf("recording %s: %w", file, err), left)
	}
	return left
}

// removeOne removes a database that is to be recorded again, with all that
// stands beside it, but never one that holds more than the one session or that
// somebody records into.
func removeOne(ctx context.Context, file string) error {
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	// Opened for writing it takes in the tapes that were left beside it, which
	// would bring the old session back into the new file.
	db, err := tape.OpenWrite(ctx, file)
	if err != nil {
		return err
	}
	sessions, err := db.Sessions(ctx)
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	for _, s := range sessions {
		if s.State == store.Recording {
			return fmt.Errorf("%w: session %d of it is being recorded", store.ErrUnusable, s.ID)
		}
	}
	if len(sessions) > 1 {
		return fmt.Errorf("%w: it holds %d sessions, which would be lost; give this test a file of its own", store.ErrUnusable, len(sessions))
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} { // left when somebody else reads it now
		if err := os.Remove(file + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.Remove(file)
}

// exportText writes the session of a database as text; the file appears, or
// takes the old one's place, in one step.
func exportText(ctx context.Context, from, to string) error {
	db, err := tape.Open(ctx, from)
	if err != nil {
		return err
	}
	defer db.Close()
	session, err := db.Find(ctx, "last")
	if err != nil {
		return err
	}
	if session.State == store.Recording {
		return errors.New("the session could not be stored to its end; record it again")
	}
	return replaceFile(to, 0o600, func(w io.Writer) error { return store.WriteText(ctx, w, session) })
}

// replaceFile writes a file beside path that then takes its place.
func replaceFile(path string, mode os.FileMode, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(tmp), tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// textExtension is the extension of the text form.
const textExtension = ".agentrec"
