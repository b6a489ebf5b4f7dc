package replay

import "os/exec"

// ownGroup leaves a command as it is: only itself is ended when it hangs.
func ownGroup(*exec.Cmd) {}
