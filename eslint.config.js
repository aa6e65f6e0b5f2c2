import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  {
    ignores: [
      '**/node_modules/',
      'packages/sdk/{dist,src/generated}/',
      'packages/{cli,daemon}/dist/',
      // Compiled by its test.
      'e2e/sdk/misuse.ts',
      'spec/',
      'guest/',
      '.dependency-cruiser.cjs',
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: { allowDefaultProject: ['eslint.config.js'] } },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      // `using _place = …` holds something for the length of a block.
      '@typescript-eslint/no-unused-vars': ['error', { varsIgnorePattern: '^_', argsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ExportDefaultDeclaration',
          message: 'Export by name: default exports hide what a file offers.',
        },
        {
          selector: 'ExportAllDeclaration',
          message: 'No barrel files: import from the file that defines it.',
        },
      ],
    },
  },
  // expect(object.method) asks about a spy, and never calls it unbound.
  { files: ['**/*.test.ts', '**/*.contract.ts'], rules: { '@typescript-eslint/unbound-method': 'off' } },
  { files: ['*.config.{js,ts}'], rules: { 'no-restricted-syntax': 'off' } },
);
