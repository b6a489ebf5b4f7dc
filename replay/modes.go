package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	if os.Getenv("CI") != "" && os.Getenv("CI") != "false" {
		return "never", nil
	}
	return mode, nil
}

// recorded records FILE from the command argv when the mode asks for it, and
// reports whether it did; then there is nothing left to replay.
func recorded(ctx context.Context, file, flag string, argv []string, record Recorder) (bool, error) {
	if len(argv) == 0 {
		return false, nil
	}
	mode, err := recordMode(flag)
	if err != nil {
		return false, err
	}
	_, err = os.Stat(file)
	missing := errors.Is(err, os.ErrNotExist)
	switch {
	case mode == "never" && missing:
		return false, fmt.Errorf("%w: %s does not exist and nothing is recorded here (CI or --record never); record it first", store.ErrUnusable, file)
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
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("recording %s again: %w", file, err)
		}
		return record(ctx, file, argv)
	}
	return fmt.Errorf("recording %s: record into a database and export that", file)
}

// textExtension is the extension of the text form.
const textExtension = ".agentrec"
