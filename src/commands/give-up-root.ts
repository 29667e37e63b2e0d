/** Commands that need no root under sudo do all that they do as the user who called it. */

export async function giveUpRoot(): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { invokingUser } = await import("../target/invoking-user.ts");
  const user = invokingUser();
  if (user === null) return;
  const { becomeUser } = await import("../target/acting-user.ts");
  becomeUser(user);
}
