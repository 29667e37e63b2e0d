/** The JSON object in the detail of a row of the step table. */

/** The object in the detail of a step; empty where there is none. */
export function detailOf({ detail }: { readonly detail: string | null }): Readonly<Record<string, unknown>> {
  if (detail === null) return {};
  try {
    const value: unknown = JSON.parse(detail);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // What is no JSON says nothing.
    return {};
  }
}
