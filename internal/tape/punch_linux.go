package tape

import (
	"os"

	"golang.org/x/sys/unix"
)

// punch gives the blocks of f between two offsets back to the file system; the
// offsets of everything else stay. Where that cannot be done it says false.
func punch(f *os.File, from, to int64) bool {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, to-from) == nil
}
