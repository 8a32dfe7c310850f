import { createRequire } from "node:module";

/** What is used of Kusto's language service, which comes as scripts that leave globals behind. */
interface Service {
  readonly KustoCode: { ParseAndAnalyze(query: string, globals: unknown): { GetDiagnostics(): List } };
  readonly GlobalState: { readonly Default: { WithDatabase(database: unknown): unknown } };
  readonly Symbols: {
    readonly TableSymbol: { From(schema: string): { WithName(name: string): unknown } };
    readonly DatabaseSymbol: {
      readonly $ctor1: new (name: string, members: readonly unknown[], isOpen: boolean) => unknown;
    };
  };
}

interface List {
  readonly Count: number;
  getItem(at: number): { readonly Message: string };
}

const common = "timestamp: datetime, cloud_RoleName: string, operation_Id: string, customDimensions: dynamic";

/** The columns that queries use, by table of the component and of the workspace. */
const tables = {
  traces: `(${common}, message: string, severityLevel: int)`,
  customMetrics: `(${common}, name: string, valueSum: real, valueCount: int, valueMin: real, valueMax: real)`,
  requests: `(${common}, name: string, resultCode: string, success: string, duration: real, itemCount: int)`,
  _LogOperation: "(TimeGenerated: datetime, Category: string, Operation: string, Level: string, Detail: string)",
  AzureDiagnostics: "(TimeGenerated: datetime, ResourceProvider: string, Resource: string, OperationName: string)",
};

/** Checks queries as Azure does: syntax, names, types. Gives a sentence for each fault. */
export function openKusto(): (query: string) => readonly string[] {
  const load = createRequire(import.meta.url);
  load("@kusto/language-service-next/bridge.min.js");
  load("@kusto/language-service-next/Kusto.Language.Bridge.min.js");
  const { KustoCode, GlobalState, Symbols } = (globalThis as unknown as { Kusto: { Language: Service } }).Kusto
    .Language;
  const known = Object.entries(tables).map(([name, schema]) => Symbols.TableSymbol.From(schema).WithName(name));
  const globals = GlobalState.Default.WithDatabase(new Symbols.DatabaseSymbol.$ctor1("sample", known, false));
  return query => {
    const found = KustoCode.ParseAndAnalyze(query, globals).GetDiagnostics();
    return Array.from({ length: found.Count }, (_, at) => found.getItem(at).Message);
  };
}
